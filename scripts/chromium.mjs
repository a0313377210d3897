/**
 * Starts the system's Chromium for tests, benchmarks and screenshots of the page; `npm test` installs it (tools.mjs).
 * Benchmarks measure the browser that people use; tests take its headless shell, which is the same engine without the user
 * interface: a page takes half the processor time.
 */
import { chromium } from 'playwright-core';
import { canIsolate, isolated } from './chromium-namespace.mjs';
import { onPath } from './debian.mjs';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const whole = 'chromium';
const shell = 'chromium-headless-shell';

/** For tests; away from the network interfaces of the machine, where that is wanted and allowed. */
export async function launchShell({ isIsolated = true } = {}) {
  const program = find([shell, whole]);
  if (!isIsolated || !canIsolate()) return launch(program);
  const { executablePath, args, close } = isolated(program);
  const browser = await launch(executablePath, args);
  browser.on('disconnected', close);
  return browser;
}

export const launchChromium = () => launch(find([whole, shell]));

function find(programs) {
  const program = programs.map((name) => onPath(name)).find(Boolean);
  if (!program) throw new Error('there is no chromium on the PATH');
  return program;
}

const launch = (executablePath, args = []) => chromium.launch({ executablePath, args: [...flags, ...args] });
