# SPDX-License-Identifier: BSD-2-Clause
"""Chromium without a window, driven by its DevTools protocol through two pipes: no port, no driver, no library."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from contract import TIMEOUT

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
needs_chromium = unittest.skipUnless(CHROMIUM, 'there is no chromium')


class Browser:
    """One page. Records its console output, its errors and its network requests."""

    def __init__(self, url, *options):
        self.directory = tempfile.mkdtemp(prefix='rsslag-chromium-')
        to_it, self.out = os.pipe()
        self.into, from_it = os.pipe()

        def descriptors():  # the browser reads descriptor 3 and writes descriptor 4
            a, b = os.dup(to_it), os.dup(from_it)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run',
             f'--user-data-dir={self.directory}', '--remote-debugging-pipe', '--window-size=1200,1600', *options],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, 'TMPDIR': self.directory})
        os.close(to_it)
        os.close(from_it)
        self.buffer, self.last, self.session = b'', 0, None
        self.console, self.requests = [], []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.loaded = False
        self.call('Page.navigate', url=url)
        while not self.loaded:
            self.note(self.message())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Killed, it would leave its other processes, which still write to the directory.
        self.session = None
        self.call('Browser.close')
        self.process.wait(TIMEOUT)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.directory, ignore_errors=True)

    def message(self):
        while b'\0' not in self.buffer:
            more = os.read(self.into, 1 << 16)
            if not more:
                raise RuntimeError('chromium has ended')
            self.buffer += more
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def note(self, message):
        method, told = message.get('method'), message.get('params', {})
        if method == 'Page.loadEventFired':
            self.loaded = True
        elif method == 'Runtime.consoleAPICalled':
            self.console.append(' '.join(str(each.get('value', each.get('description'))) for each in told['args']))
        elif method == 'Runtime.exceptionThrown':
            self.console.append(told['exceptionDetails']['text'])
        elif method == 'Log.entryAdded':
            self.console.append(told['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.requests.append(told['request']['url'])
        elif method == 'Page.javascriptDialogOpening':
            self.console.append('dialog: ' + told['message'])

    def call(self, method, **params):
        self.last += 1
        request = {'id': self.last, 'method': method, 'params': params}
        if self.session:
            request['sessionId'] = self.session
        os.write(self.out, json.dumps(request).encode() + b'\0')
        while True:
            message = self.message()
            if message.get('id') == self.last:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]}')
                return message['result']
            self.note(message)

    def run(self, script):
        """The value of a JavaScript expression."""
        result = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(result['exceptionDetails'])
        return result['result'].get('value')

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def drag(self, x, y, to_x):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=1)
        self.mouse('mouseMoved', to_x, y, button='left', buttons=1)
        self.mouse('mouseReleased', to_x, y, button='left', clickCount=1)

    def picture(self, path):
        import base64
        data = self.call('Page.captureScreenshot', captureBeyondViewport=True)['data']
        with open(path, 'wb') as out:
            out.write(base64.b64decode(data))
