'use strict';
// Names come as document text or as JSON and are inserted only as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const SVG = 'http://www.w3.org/2000/svg';
  const WIDTH = 960, LEFT = 100, RIGHT = 12, TOP = 18, HEIGHT = 220, STRIP = 300, STRIP_HEIGHT = 64, ALL = 392;
  const PLOT = WIDTH - LEFT - RIGHT;
  const LINES = ['flushed', 'stat', 'cached', 'walked'];

  const kb = pages => (pages * data.page_size / 1024).toLocaleString('en-US') + ' kB';
  const seconds = ns => (ns / 1e9).toLocaleString('en-US', {minimumFractionDigits: 3, maximumFractionDigits: 3}) + ' s';

  function add(parent, name, attributes = {}, text = '') {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    parent.append(element);
    return element;
  }

  // The chart of one process. Time is divided into columns; the chart shows those from `from` to before `to`.
  class Chart {
    constructor(process, place) {
      this.process = process;
      this.columns = process.most.length;
      this.svg = add(place, 'svg', {viewBox: `0 0 ${WIDTH} ${ALL}`, role: 'img', tabindex: 0, class: 'chart',
        'aria-label': 'RSS and lag over time: arrow keys move, + and - zoom, 0 shows all'});
      this.readout = place.parentElement.querySelector('output');
      this.svg.addEventListener('pointerdown', event => this.press(event));
      this.svg.addEventListener('pointermove', event => this.move(event));
      this.svg.addEventListener('pointerup', event => this.release(event));
      this.svg.addEventListener('pointerleave', () => this.leave());
      this.svg.addEventListener('dblclick', () => this.show(0, this.columns));
      this.svg.addEventListener('keydown', event => this.key(event));
      this.show(0, this.columns);
    }

    show(from, to) {
      const least = Math.min(8, this.columns);
      const width = Math.min(Math.max(to - from, least), this.columns);
      this.from = Math.min(Math.max(0, Math.round(from)), this.columns - width);
      this.to = this.from + Math.round(width);
      this.draw();
    }

    zoom(factor) {
      const middle = (this.from + this.to) / 2, half = (this.to - this.from) / 2 * factor;
      this.show(middle - half, middle + half);
    }

    x(column) { return LEFT + (column - this.from) / (this.to - this.from) * PLOT; }
    columnAt(event) {
      const box = this.svg.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * WIDTH;
      return Math.min(Math.max(this.from + (x - LEFT) / PLOT * (this.to - this.from), this.from), this.to - 1);
    }
    shown(values) { return values.slice(this.from, this.to).filter(value => typeof value === 'number'); }

    // Areas from the least to the most of each column, one for each contiguous range of known columns.
    band(least, most, y, style) {
      let path = '', back = '';
      const end = () => { if (path) add(this.svg, 'path', {class: style, d: path + back + 'Z'}); path = back = ''; };
      for (let i = this.from; i < this.to; ++i) {
        if (most[i] === null) { end(); continue; }
        const left = this.x(i).toFixed(1), right = this.x(i + 1).toFixed(1);
        path += `${path ? 'L' : 'M'}${left} ${y(most[i])}H${right}`;
        back = `L${right} ${y(least[i])}H${left}` + back;
      }
      end();
    }

    // Values of ticks: null: no tick in the column; false: a tick without the value.
    line(values, y, style) {
      let path = '', drawing = false;
      for (let i = this.from; i < this.to; ++i) {
        if (values[i] === null) continue;
        if (values[i] !== false) path += `${drawing ? 'L' : 'M'}${this.x(i + .5).toFixed(1)} ${y(values[i])}`;
        drawing = values[i] !== false;
      }
      if (path) add(this.svg, 'path', {class: style, d: path});
    }

    grid(y, most, steps) {
      for (let i = 0; i <= steps; ++i) {
        const value = Math.round(most * i / steps);
        add(this.svg, 'line', {class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value)});
        add(this.svg, 'text', {x: LEFT - 6, y: +y(value) + 4, 'text-anchor': 'end'}, kb(value));
      }
    }

    times(y) {
      for (let i = 0; i <= 4; ++i) {
        const column = this.from + (this.to - this.from) * i / 4;
        add(this.svg, 'text', {x: this.x(column), y, 'text-anchor': i === 4 ? 'end' : i === 0 ? 'start' : 'middle'},
          seconds(column * data.column_ns));
      }
    }

    draw() {
      const process = this.process;
      this.svg.replaceChildren();
      const most = Math.max(1, ...this.shown(process.most), ...LINES.flatMap(name => this.shown(process[name])));
      const mostLag = Math.max(1, process.bound, ...this.shown(process.lag));
      const y = value => (TOP + HEIGHT - value / most * HEIGHT).toFixed(1);
      const lagY = value => (STRIP + STRIP_HEIGHT - Math.max(value, 0) / mostLag * STRIP_HEIGHT).toFixed(1);
      this.grid(y, most, 4);
      this.band(process.least, process.most, y, 'exact');
      for (const name of LINES) this.line(process[name], y, name);
      this.grid(lagY, mostLag, 1);
      this.band(process.lag.map(value => value === null ? null : 0), process.lag, lagY, 'lag');
      add(this.svg, 'line', {class: 'bound', x1: LEFT, x2: WIDTH - RIGHT, y1: lagY(process.bound), y2: lagY(process.bound)});
      add(this.svg, 'text', {x: LEFT, y: STRIP - 8}, `lag; ${process.bound_text}`);
      this.times(STRIP + STRIP_HEIGHT + 18);
      const peak = process.peak_ns / data.column_ns;
      if (peak >= this.from && peak < this.to) {
        add(this.svg, 'line', {class: 'peak', x1: this.x(peak), x2: this.x(peak), y1: TOP - 4, y2: TOP + HEIGHT});
        add(this.svg, 'text', {x: Math.min(this.x(peak) + 4, WIDTH - RIGHT - 60), y: TOP - 6}, 'peak');
      }
      this.chosen = add(this.svg, 'rect', {class: 'chosen', y: TOP, height: STRIP + STRIP_HEIGHT - TOP, width: 0, x: LEFT});
      this.here = add(this.svg, 'line', {class: 'here', y1: TOP, y2: STRIP + STRIP_HEIGHT, x1: -9, x2: -9});
    }

    describe(column) {
      const process = this.process, i = Math.floor(column);
      this.here.setAttribute('x1', this.x(i + .5));
      this.here.setAttribute('x2', this.x(i + .5));
      const parts = [seconds(i * data.column_ns)];
      if (process.most[i] === null) parts.push('not known then');
      else parts.push('exact ' + (process.least[i] === process.most[i] ? kb(process.most[i])
        : `${kb(process.least[i])} to ${kb(process.most[i])}`), `lag ${kb(process.lag[i])}`);
      const names = {flushed: 'flushed', stat: 'stat says', cached: 'cached', walked: 'walked'};
      for (const name of LINES) if (typeof process[name][i] === 'number') parts.push(`${names[name]} ${kb(process[name][i])}`);
      this.readout.textContent = parts.join(' · ');
    }

    press(event) {
      if (event.button !== 0) return;
      this.dragStart = this.columnAt(event);
      this.svg.setPointerCapture(event.pointerId);
    }
    move(event) {
      const column = this.columnAt(event);
      this.describe(column);
      if (this.dragStart === undefined) return;
      const [left, right] = [this.dragStart, column].sort((a, b) => a - b);
      this.chosen.setAttribute('x', this.x(left));
      this.chosen.setAttribute('width', this.x(right) - this.x(left));
    }
    release(event) {
      const [left, right] = [this.dragStart ?? 0, this.columnAt(event)].sort((a, b) => a - b);
      const dragged = this.dragStart !== undefined && this.x(right) - this.x(left) > 5;
      this.dragStart = undefined;
      if (dragged) this.show(left, right);
    }
    leave() {
      if (this.dragStart === undefined) this.here.setAttribute('x1', -9), this.here.setAttribute('x2', -9);
    }
    key(event) {
      const width = this.to - this.from;
      const does = {'+': () => this.zoom(.5), '=': () => this.zoom(.5), '-': () => this.zoom(2), '0': () => this.show(0, this.columns),
        ArrowLeft: () => this.show(this.from - width / 4, this.to - width / 4),
        ArrowRight: () => this.show(this.from + width / 4, this.to + width / 4)}[event.key];
      if (!does || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      does();
    }
  }

  // A cell with data-v is sorted by that number, else by its text.
  function sortable(table) {
    const body = table.tBodies[0];
    const value = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement('button');
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener('click', () => {
        const down = heading.getAttribute('aria-sort') ? heading.getAttribute('aria-sort') === 'ascending' : heading.className === 'n';
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const order = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
        body.append(...[...body.rows].sort((a, b) => order(value(a, column), value(b, column)) * (down ? -1 : 1)));
      });
    });
  }

  const sections = [...document.querySelectorAll('section[data-process]')];
  const rows = [...document.querySelectorAll('tr[data-process]')];
  const charts = new Map();

  function chart(section) {
    const number = Number(section.dataset.process);
    if (!charts.has(number)) {
      const drawn = new Chart(data.processes[number], section.querySelector('.place'));
      charts.set(number, drawn);
      const does = {in: () => drawn.zoom(.5), out: () => drawn.zoom(2), all: () => drawn.show(0, drawn.columns)};
      for (const button of section.querySelectorAll('.tools button')) button.addEventListener('click', does[button.dataset.does]);
    }
    return charts.get(number);
  }

  function choose(number) {
    for (const section of sections) section.classList.toggle('hidden', section.dataset.process !== number);
    for (const row of rows) row.setAttribute('aria-selected', row.dataset.process === number);
    const section = sections.find(each => each.dataset.process === number);
    if (section) chart(section);
  }

  document.querySelectorAll('table.sorted').forEach(sortable);
  for (const row of rows) {
    row.tabIndex = 0;
    row.addEventListener('click', () => choose(row.dataset.process));
    row.addEventListener('keydown', event => { if (event.key === 'Enter') choose(row.dataset.process); });
  }
  // Printing shows all charts.
  window.addEventListener('beforeprint', () => sections.forEach(chart));
  if (rows.length > 0) choose(rows[0].dataset.process);
})();
