/**
 * A real browser for tests of the dashboard, one in each worker. Every page is new, with storage of its own, and what it
 * complains about in its console, such as a breach of its own policy, fails the test. Tests run what is built, since
 * sources have no page.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Cluster, StartOptions } from '../../src/cluster/index.ts';
import { isRelease } from '../support/tier.ts';

/** Bounds against pages that hang, not measurements. */
const patienceMs = 60_000;

/**
 * Chromium breaks its connections once when an interface comes or goes, as in tests of pod networks; the dashboard goes
 * on.
 */
const ofMachine = /ERR_NETWORK_CHANGED/;
/** The dashboard then asks by a plain request why a terminal was refused, and hears that it was not. */
const askedWhy = /status of 400 .*\/(?:exec|attach)\?/;
/** Chromium shows a page of its own for such a failure, which may get in the way of the next try. */
const interrupted = /interrupted by another navigation/;
const triesMax = 20;

const load = createRequire(import.meta.url);
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');

/** Not by `import`, which would send the whole bundle through the tools that make tests of sources. */
export const startBuilt = (options: StartOptions): Promise<Cluster> =>
  load('../../dist/index.cjs').start(options);

/** Requests of tests. The client of the other tests would load all sources, which are built here. */
export class ApiClient {
  constructor(private readonly url: () => string) {}

  get = (path: string) => this.#send('GET', path);
  post = (path: string, body: object) => this.#send('POST', path, body);
  patch = (path: string, body: object, type = 'application/merge-patch+json') =>
    this.#send('PATCH', path, body, type);
  delete = (path: string) => this.#send('DELETE', path);

  async #send(method: string, path: string, body?: object, type = 'application/json') {
    const answer = await fetch(`${this.url()}${path}`, {
      method,
      headers: body && { 'Content-Type': type },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any };
  }
}

/** A cluster of simulated nodes, in memory, for all tests of a file. */
export function useBuiltCluster(options: StartOptions = {}) {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startBuilt({ simulatedNodes: 2, ...options });
    await cluster.nodesReady;
  });
  afterAll(() => cluster?.close());
  return {
    get cluster(): Cluster {
      return cluster;
    },
    client: new ApiClient(() => cluster.url),
  };
}

const launch = async (options: object = {}): Promise<Browser> =>
  (await import('../../scripts/chromium.mjs' as string)).launchShell(options);

/** A start takes a second of processor time, so the browser stays for the next file of the worker, if one comes soon. */
const idleMs = 30_000;
let kept: { browser: Browser; end: NodeJS.Timeout } | undefined;

async function keptBrowser(): Promise<Browser> {
  const found = kept;
  kept = undefined;
  clearTimeout(found?.end);
  return found?.browser.isConnected() ? found.browser : launch();
}

/** It ends with the process, too: Playwright sees to that. */
function keep(browser: Browser): void {
  const end = setTimeout(() => {
    kept = undefined;
    void browser.close();
  }, idleMs);
  kept = { browser, end: end.unref() };
}

export function useBrowser() {
  let browser: Browser;
  /** Shows client certificates: Playwright does it by a proxy that cannot be reached from another network namespace. */
  let certified: Browser | undefined;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await keptBrowser();
  });
  afterEach(async () => {
    for (const context of [...browser.contexts(), ...(certified?.contexts() ?? [])]) {
      // A request may be under way that a test answers.
      for (const page of context.pages()) await page.unrouteAll({ behavior: 'ignoreErrors' });
      await context.close();
    }
    expect(complaints.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    if (browser) keep(browser);
    await certified?.close();
  });
  return {
    /** Opens a page. `expected` complaints do not count. */
    open: async (address: string, options: BrowserContextOptions = {}, expected?: RegExp): Promise<Page> => {
      if (options.clientCertificates) certified ??= await launch({ isIsolated: false });
      const chosen = (options.clientCertificates && certified) || browser;
      const context = await chosen.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(patienceMs);
      page.on('pageerror', (error) => complaints.push(String(error)));
      let hasMachineChanged = false;
      page.on('console', (message) => {
        if (message.type() !== 'error') return;
        const text = message.text();
        const complaint = `${text} ${message.location().url}`;
        hasMachineChanged ||= ofMachine.test(text);
        if (ofMachine.test(text) || expected?.test(text)) return;
        if (!(hasMachineChanged && askedWhy.test(complaint))) complaints.push(complaint);
      });
      let isBroken = false;
      const note = (problem: string): boolean => {
        isBroken ||= ofMachine.test(problem);
        return isBroken;
      };
      page.on('requestfailed', (request) => note(request.failure()?.errorText ?? ''));
      const goto = page.goto.bind(page);
      // A file of the dashboard may be missing when connections were broken.
      page.goto = async (...where) => {
        for (let tries = 0; ; tries++) {
          isBroken = false;
          const response = await goto(...where).catch((error) => {
            if (tries === triesMax || (!note(String(error)) && !interrupted.test(String(error)))) throw error;
            isBroken = true;
            return null;
          });
          if (!isBroken || tries === triesMax) return response;
          // What is under way, such as Chromium's page of the failure, would interrupt the next try.
          await page.waitForLoadState();
        }
      };
      await page.goto(address);
      return page;
    },
  };
}

/** Goes to another address of the dashboard as its links do, without loading it anew. */
export const follow = (page: Page, address: string): Promise<unknown> =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(address)}); dispatchEvent(new Event('popstate'))`,
  );

const themes = ['dark', 'light'] as const;
let looks = 0;

/** What is the same around every view. */
const frame = ['.bar', '.kinds'];

/**
 * What axe finds in a page, of any impact: before a release in light and in dark, else in the next of them each time.
 *
 * @param isFrameKnown the frame around the view was looked at before, and is left out
 */
export async function axeFindings(page: Page, isFrameKnown = false): Promise<string[]> {
  if (!(await page.evaluate('globalThis.axe !== undefined'))) await page.evaluate(axe);
  const findings: string[] = [];
  for (const theme of isRelease ? themes : [themes[looks++ % themes.length]!]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`[data-theme=${theme}]`).waitFor();
    const exclude = isFrameKnown ? frame.map((part) => [part]) : [];
    const found: string[] = await page.evaluate(async (exclude) => {
      const { axe, document } = globalThis as any;
      const where = { include: [document], exclude };
      const { violations } = await axe.run(where, { resultTypes: ['violations'] });
      return violations.flatMap(({ id, nodes }: any) =>
        nodes.map(({ html }: any) => `${id}: ${html.slice(0, 200)}`),
      );
    }, exclude);
    findings.push(...found.map((each) => `${theme} ${each}`));
  }
  return findings;
}

/** Notes what is clicked on in pages that are loaded from now on, for `keyFindings`. */
export const noteClicks = (page: Page): Promise<unknown> =>
  page.addInitScript(`
    const clicked = (globalThis.clicked = new WeakSet());
    const add = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (type, ...rest) {
      if (type === 'click' && this instanceof Element) clicked.add(this);
      return add.call(this, type, ...rest);
    };`);

/**
 * What a page offers to a mouse alone, and what does not show that it has the focus. Marks of the timeline are in a list
 * beside it, options belong to their field, and lines of a log to the log, which have keys; nothing happens on charts.
 *
 * @param isFrameKnown the frame around the view was looked at before, and is left out
 */
export async function keyFindings(page: Page, isFrameKnown = false): Promise<string[]> {
  await page.keyboard.press('Tab');
  return page.evaluate(`(() => {
    const findings = [];
    const isOwn = 'a[href], button, input, select, textarea, summary, [tabindex], [contenteditable=true]';
    const isElsewhere = '.plotbox *, .mark, [role=option], .loglist tr, .cm-editor *';
    for (const element of document.querySelectorAll('${isFrameKnown ? 'main *' : 'body *'}')) {
      if (!element.checkVisibility() || element.disabled || element.matches(isElsewhere)) continue;
      const isFocusable = element.matches(isOwn) && element.tabIndex >= 0;
      if (clicked.has(element) && !isFocusable) findings.push('by mouse alone: ' + element.outerHTML.slice(0, 150));
      if (!isFocusable) continue;
      element.focus({ preventScroll: true });
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      if (document.activeElement !== element || outlineStyle === 'none' || outlineWidth === '0px')
        findings.push('focus is not seen: ' + element.outerHTML.slice(0, 150));
    }
    document.activeElement?.blur();
    return findings;
  })()`);
}

/**
 * What Tab does not reach in a page, in an order in which nobody reads, or without showing where the focus is. One tab of
 * several, and one choice, is reached by Tab and the others by arrows.
 */
export async function tabFindings(page: Page): Promise<string[]> {
  await page.evaluate(`(() => {
    const stops = (globalThis.stops = []);
    document.activeElement?.blur();
    document.addEventListener('focusin', ({ target }) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(target.closest('.codeeditor') ?? target);
      stops.push({ target, isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' });
    });
  })()`);
  const isAround = 'stops.length > 1 && stops.slice(1).some(({ target }) => target === stops[0].target)';
  for (let presses = 0; presses < tabsMax && !(await page.evaluate(isAround)); presses += tabsAtOnce)
    for (let i = 0; i < tabsAtOnce; i++) await page.keyboard.press('Tab');
  return page.evaluate(`(() => {
    const first = stops[0].target;
    const end = stops.findIndex(({ target }, at) => at > 0 && target === first);
    if (end < 0) return ['Tab never comes round'];
    const round = stops.slice(0, end);
    const reached = new Set(round.map(({ target }) => target));
    const name = (element) => element.outerHTML.slice(0, 120);
    const findings = round.filter(({ isSeen }) => !isSeen).map(({ target }) => 'focus is not seen: ' + name(target));
    const wanted = 'a[href], button, input, select, textarea, summary, [tabindex="0"], [contenteditable=true]';
    const isElsewhere = '.plotbox *, .mark, [role=option], .loglist tr, .cm-editor *, [role=tab]:not([tabindex="0"])';
    for (const element of document.querySelectorAll('body *')) {
      if (!element.checkVisibility({ visibilityProperty: true }) || element.disabled || reached.has(element)) continue;
      if ((element.matches(wanted) || clicked.has(element)) && !element.matches(isElsewhere))
        findings.push('Tab does not reach ' + name(element));
    }
    const part = (element) => element.closest('.titleline, .panel, section, table, ul, nav, header, form, main');
    for (const [at, { target }] of round.entries()) {
      const next = round[at + 1]?.target;
      if (!next || part(next) !== part(target)) continue;
      const [a, b] = [target.getBoundingClientRect(), next.getBoundingClientRect()];
      const isInside = target.contains(next);
      const isBesideBefore = b.right <= a.left && b.top < a.bottom && b.bottom > a.top;
      const isAbove = b.bottom <= a.top && b.left < a.right;
      if (!isInside && (isAbove || isBesideBefore)) findings.push(name(next) + ' comes after ' + name(target));
    }
    return findings;
  })()`);
}

/** A bound against pages that Tab does not leave. */
const tabsMax = 500;
const tabsAtOnce = 40;

/** The texts of a column of the table that is shown. */
export const cellsOf = (page: Page, column: number): Promise<string[]> =>
  page.locator(`.rows tbody tr[data-name] td:nth-child(${column})`).allTextContents();

/** Makes the dashboard so high that the editor, which draws the lines in sight alone, draws all of them. */
export const showWholeEditor = (page: Page): Promise<void> =>
  page.setViewportSize({ width: 1280, height: 4_000 });
