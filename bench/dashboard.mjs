/**
 * The page in a real browser: `node bench/dashboard.mjs [--minutes 30] [--pods 10000,50000] [--paints 9]`. Prints its size, the time to its
 * first paint, how long tables of many pods take to appear, frame times while these change and are scrolled, and the
 * memory of the page after a while of that.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { launchChromium } from '../scripts/chromium.mjs';
import { wherry } from './servers.mjs';

const { values: asked } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    pods: { type: 'string', default: '10000,50000' },
    paints: { type: 'string', default: '9' },
  },
});
const paints = Number(asked.paints);
const folder = path.join(path.dirname(import.meta.dirname), 'dist/ui');
const changesPerSecond = 100;
const podsAtOnce = 1_000;
const memoryEveryMinutes = 5;

const print = (figure, value) => console.log(`${figure.padEnd(58)} ${value}`);
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

function printSizes() {
  const page = readFileSync(path.join(folder, 'index.html'), 'utf8');
  const all = readdirSync(folder).filter((name) => name.endsWith('.br'));
  const size = (names) => names.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
  const first = all.filter((name) => page.includes(name.replace(/\.br$/, '')));
  print('files of the first page, compressed', kilobytes(size(first)));
  print('all files, compressed', kilobytes(size(all)));
}

async function firstPaint(browser, url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url, { waitUntil: 'load' });
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
  const ms = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  await context.close();
  return ms;
}

/** Beside a page that holds nothing but a word: most of the time is the browser's own. */
async function printFirstPaint(browser, url) {
  const empty = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><p>Hello</p>');
  }).listen(0, '127.0.0.1');
  await once(empty, 'listening');
  const times = { page: [], empty: [] };
  for (let i = 0; i < paints; i++) {
    times.empty.push(await firstPaint(browser, `http://127.0.0.1:${empty.address().port}/`));
    times.page.push(await firstPaint(browser, url));
  }
  empty.close();
  const text = `${median(times.page).toFixed(0)} ms (an empty page: ${median(times.empty).toFixed(0)} ms)`;
  print(`first paint, nothing cached, median of ${paints}`, text);
}

const podOf = (n) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `pod-${String(n).padStart(6, '0')}`,
    namespace: 'default',
    uid: randomUUID(),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: `app-${n % 100}` },
  },
  spec: { nodeName: `node-${n % 200}`, containers: [{ name: 'main', image: 'example/app:1.2.3' }] },
  status: { phase: 'Running' },
});

/** By the door of imports, which takes a thousand at once. */
async function createPods(url, from, to) {
  for (let begin = from; begin < to; begin += podsAtOnce) {
    const count = Math.min(podsAtOnce, to - begin);
    const objects = Array.from({ length: count }, (_, i) => podOf(begin + i));
    const answer = await fetch(`${url}/wherry/import`, { method: 'POST', body: JSON.stringify({ objects }) });
    const text = await answer.text();
    const { results = [] } = answer.ok ? JSON.parse(text) : {};
    if (results.filter(({ state }) => state === 'written').length !== count) throw new Error(text);
  }
}

/** Changes pods until it is stopped, at an even pace. */
function changePods(url, count) {
  let n = 0;
  const timer = setInterval(() => {
    const name = podOf((n * 7919) % count).metadata.name;
    n++;
    void fetch(`${url}/api/v1/namespaces/default/pods/${name}`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { turn: String(n) } } }),
    }).then((answer) => answer.arrayBuffer());
  }, 1000 / changesPerSecond);
  return () => clearInterval(timer);
}

/** What has been loaded when the first rows are there: scripts as they were sent, and with the page all its files. */
async function printLoaded(page) {
  const { files, scripts, all } = await page.evaluate(() => {
    const loaded = performance
      .getEntries()
      .filter(({ entryType, name }) => entryType === 'navigation' || /\/ui\/[^?]*\.(js|svg)$/.test(name));
    const size = (entries) => entries.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    return {
      files: loaded.length,
      scripts: size(loaded.filter(({ name }) => name.endsWith('.js'))),
      all: size(loaded),
    };
  });
  print('scripts before the first table, compressed', kilobytes(scripts));
  print('page and scripts before the first table, compressed', `${kilobytes(all)} in ${files} requests`);
}

/** Times between frames, in milliseconds. `scroll`: the table moves with every frame. */
const frameTimes = (page, forMs, scroll) =>
  page.evaluate(
    ([ms, step]) =>
      new Promise((resolve) => {
        const box = document.querySelector('.tablebox');
        const times = [];
        const begun = performance.now();
        let before = begun;
        const frame = (now) => {
          times.push(now - before);
          before = now;
          box.scrollTop += step;
          if (now - begun < ms) requestAnimationFrame(frame);
          else resolve(times.slice(1));
        };
        requestAnimationFrame(frame);
      }),
    [forMs, scroll ? 400 : 0],
  );

function frameText(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))].toFixed(1);
  return `median ${at(0.5)} ms, 95 % under ${at(0.95)} ms, longest ${at(1)} ms`;
}

async function heapMegabytes(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return (usedSize / 1e6).toFixed(1);
}

/** The memory of page and server while pods change, every few minutes: it should stay where it is. */
async function printMemory(page, server, text) {
  const whole = Number(asked.minutes);
  for (let passed = 0; passed < whole; ) {
    const step = Math.min(memoryEveryMinutes, whole - passed);
    await page.waitForTimeout(step * 60_000);
    passed += step;
    const memory = `${await heapMegabytes(page)} MB (the server: ${server.residentMB?.toFixed(0)} MB)`;
    print(`${text} pods: memory after ${passed} min of that`, memory);
  }
}

async function printTable(browser, server, count) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const text = count.toLocaleString('en');
  const begun = performance.now();
  await page.goto(`${server.url}/ui/list/pods`);
  await page.locator('tr[data-name]').first().waitFor({ timeout: 120_000 });
  print(`${text} pods: first rows`, `${(performance.now() - begun).toFixed(0)} ms`);
  if (count === counts[0]) await printLoaded(page);
  await page.waitForFunction((wanted) => document.querySelector('.count')?.textContent === wanted, text, {
    timeout: 120_000,
  });
  print(`${text} pods: all rows`, `${(performance.now() - begun).toFixed(0)} ms`);
  print(`${text} pods: memory of the page`, `${await heapMegabytes(page)} MB`);
  print(`${text} pods: frames while scrolling`, frameText(await frameTimes(page, 5_000, true)));
  const stop = changePods(server.url, count);
  print(
    `${text} pods, ${changesPerSecond} change a second: frames`,
    frameText(await frameTimes(page, 10_000, false)),
  );
  if (count === counts.at(-1)) await printMemory(page, server, text);
  stop();
  await page.close();
}

const counts = asked.pods.split(',').map(Number);
printSizes();
const server = await wherry('memory', undefined, ['--secure-port', 'off']);
const browser = await launchChromium();
try {
  await printFirstPaint(browser, `${server.url}/`);
  let made = 0;
  for (const count of counts) {
    await createPods(server.url, made, count);
    made = count;
    await printTable(browser, server, count);
  }
} finally {
  await browser.close();
  await server.close();
}
