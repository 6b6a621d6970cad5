'use strict';
// A click on a box widens it to the whole panel; a click on the lowest box resets. The search marks all boxes whose name
// contains the words, and shows their share of each panel.
(() => {
  const root = document.querySelector('svg.flame');
  const LEFT = +root.dataset.x, WIDTH = +root.dataset.w, CHARACTER = 7.3;
  const panels = [...root.querySelectorAll('.panel')].map(panel => ({
    heading: panel.querySelector('.name').textContent,
    boxes: [...panel.querySelectorAll('.box')].map(element => {
      const title = element.querySelector('title').textContent;
      return {element, x: +element.dataset.x, w: +element.dataset.w, d: +element.dataset.d, rect: element.querySelector('rect'),
              text: element.querySelector('text'), name: title.slice(0, title.lastIndexOf(': '))};
    })}));

  function zoom(panel, at) {
    for (const box of panel.boxes) {
      const holds = box.d < at.d && box.x <= at.x + 1e-3 && box.x + box.w >= at.x + at.w - 1e-3;
      const x = holds ? LEFT : LEFT + (box.x - at.x) / at.w * WIDTH;
      const w = holds ? WIDTH : box.w / at.w * WIDTH;
      const shown = x >= LEFT - 1e-3 && x + w <= LEFT + WIDTH + 0.5 && (holds || box.d >= at.d);
      box.element.style.display = shown ? '' : 'none';
      box.element.classList.toggle('below', holds);
      if (!shown) continue;
      box.rect.setAttribute('x', x);
      box.rect.setAttribute('width', w);
      box.text.setAttribute('x', x + 3);
      const most = Math.floor((w - 6) / CHARACTER), name = [...box.name];
      box.text.textContent = name.length <= most ? box.name : most < 3 ? '' : name.slice(0, most - 1).join('') + '…';
    }
  }

  function search(words) {
    const sought = words.toLowerCase(), shares = [];
    for (const panel of panels) {
      const hits = [];
      for (const box of panel.boxes) {
        const hit = sought !== '' && box.d > 0 && box.name.toLowerCase().includes(sought);
        box.element.classList.toggle('hit', hit);
        if (hit) hits.push(box);
      }
      // A box counts once, also if a box below it is a hit.
      let end = -1, sum = 0;
      for (const box of hits.sort((a, b) => a.x - b.x || b.w - a.w)) {
        const from = Math.max(box.x, end), to = box.x + box.w;
        if (to > from) { sum += to - from; end = to; }
      }
      shares.push(panel.heading.split(' ').pop() + ' ' + (sum / WIDTH * 100).toFixed(1) + ' %');
    }
    root.querySelector('.found').textContent = sought === '' ? '' : shares.join(', ');
  }

  for (const panel of panels)
    for (const box of panel.boxes)
      box.element.addEventListener('click', () => zoom(panel, box));
  const field = root.querySelector('input');
  field.addEventListener('input', () => search(field.value));
})();
