/**
 * Runs the console blocks of a page as a reader would, in order: `$ command` lines with the output below them. The page's
 * port, folder and machine are exchanged for those of the run, and what differs from run to run is masked.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts } from '../support/free-ports.ts';

/** How long a command may take, and how long a state that it shows may take to come. */
const waitMaxMs = 120_000;
const pauseMs = 100;

export interface Step {
  readonly command: string;
  /** The output on the page, `…` for what is left out. */
  readonly shown: string;
}

/** A block of commands, named by its first command. */
export interface ConsoleBlock {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** The blocks of a page that have commands, and the files that it shows below a line with their name in code and a colon. */
export function readPage(text: string): { blocks: ConsoleBlock[]; files: Map<string, string> } {
  const blocks: ConsoleBlock[] = [];
  const files = new Map<string, string>();
  for (const match of text.matchAll(/(?:^`(\S+)`[^\n]*:\n\n)?^ *```(\w*)\n([\s\S]*?)^ *```$/gm)) {
    const [, file, language, body] = match;
    if (file) files.set(file, body!);
    if ((language === '' || language === 'console') && /^ *\$ /m.test(body!)) blocks.push(blockOf(body!));
  }
  return { blocks, files };
}

function blockOf(body: string): ConsoleBlock {
  const steps = body
    .split(/^ *\$ /m)
    .slice(1)
    .map((part) => {
      const [, command, shown] = /^((?:[^\n]*\\\n)*[^\n]*)\n?([\s\S]*)$/.exec(part)!;
      return { command: command!, shown: shown! };
    });
  return { name: steps[0]!.command, steps };
}

/** Commands that ask and change nothing: repeated until the cluster is in the state that the page shows. */
const isQuestion = (command: string): boolean =>
  /^(?:wherry (?:history|timeline|at)|kubectl (?:-\S+ \S+ )*(?:get|logs|describe|top|auth|api-versions|exec)|ls|tail|grep|cat)\b/.test(
    command,
  ) ||
  (/^curl /.test(command) && !/ -(?:X|d)\b/.test(command));

const isDetached = (command: string): boolean => command.startsWith('wherry up -d ');

/** A server or node that the next commands talk to, unless it goes to the background or the page shows that it does not start. */
const isServer = ({ command, shown }: Step): boolean =>
  /^(?:wherry (?:up|serve|node|open|record)|npm start)\b/.test(command) &&
  !isDetached(command) &&
  !/^wherry: /m.test(shown);

/** What differs from run to run, each as a pattern. Some values come again in later commands of the page. */
const variables = [
  // Versions of objects, and what an answer about history has of them.
  /^\d+(?= \d{4}-)/,
  /(?<="(?:oldest|newest|version)": ")\d+/,
  /(?<=\bevents )\d+/,
  /(?<=, with )\d+(?= requests)/,
  /(?<=^wherry_record_\S+ )[\d.e-]+$/,
  /(?<=too old resource version: )\d+ \(\d+\)/,
  /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/,
  /\d{4}-\d\d-\d\dT[\d:.]+Z/,
  /\w{3} \w{3} +\d+ [\d:]{8} \w+ \d{4}/,
  /\b\w{3} +\d+ \d\d:\d\d\b/,
  // Ages, and amounts of processor and memory at the end of a line.
  /\b(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+\b/,
  /\b\d+Mi$/,
  /(?<=\bafter )\d+\.\d\d(?= s)/,
  /\b(?!127\.)\d+\.\d+\.\d+\.\d+\b/,
  /(?:-[bcdfghjklmnpqrstvwxz2456789]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b/,
  /(?<=\b(?:version|after|process|object|kill|root root) )\d+/,
  /\b\d+(?= (?:objects|watches for))/,
  // Which of many nodes a pod is on.
  /(?<=\d\.\d+ )simulated-\d+/,
  /(?<=kubeconfig: )\S+/,
  /\bwh[0-9a-f]{8}\b/,
  /(?<=resourceVersion=)\d+/,
];
const anyVariable = new RegExp(variables.map(({ source }) => `(${source})`).join('|'), 'gm');

const withoutPadding = (text: string): string =>
  text.replaceAll('\r', '').replace(/ {2,}/g, ' ').replace(/ +$/gm, '').trim();
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*');

/**
 * Compares a text with what a page shows. Undefined: it is another; otherwise pairs of a value on the page and the one in
 * its place, where these differ.
 */
export function compare(shown: string, printed: string): Map<string, string> | undefined {
  const values: string[] = [];
  const patternOf = (line: string): string => {
    let pattern = '';
    let end = 0;
    for (const match of line.matchAll(anyVariable)) {
      const kind = match.slice(1).findIndex((value) => value !== undefined);
      pattern += `${escaped(line.slice(end, match.index))}(${variables[kind]!.source})`;
      values.push(match[0]);
      end = match.index + match[0].length;
    }
    return `${pattern}${escaped(line.slice(end))}\\n`;
  };
  const pattern = withoutPadding(shown)
    .split('\n')
    .map((line) => (line.trim() === '…' ? '(?:.*\\n)*?' : patternOf(line)))
    .join('');
  const found = new RegExp(`^${pattern}$`, 'm').exec(`${withoutPadding(printed)}\n`);
  if (!found || found[0].length < withoutPadding(printed).length) return undefined;
  return new Map(values.map((value, i): [string, string] => [value, found[i + 1]!]));
}

/** The page's name for the cluster of the context `production`, which listens on port 8088. */
const production = 'https://production.example.com:6443';

/** A folder, ports and servers in which one page is run. */
export class PageSession {
  readonly #home = realpathSync(mkdtempSync(path.join(tmpdir(), 'wherry-page-')));
  /** The page's `/home/me`. */
  readonly #folder = path.join(this.#home, 'me');
  readonly #environment: NodeJS.ProcessEnv;
  readonly #servers: ChildProcess[] = [];
  /** Names and addresses on the page, with those of this run. */
  readonly #values = new Map<string, string>();
  /** Whether the page has started a cluster in the background. */
  #hasBackground = false;

  private constructor(
    private readonly ports: Readonly<Record<string, number>>,
    kubectl: string,
    private readonly ending: NodeJS.Signals,
  ) {
    const programs = path.join(this.#home, 'bin');
    mkdirSync(programs);
    mkdirSync(this.#folder);
    symlinkSync(kubectl, path.join(programs, 'kubectl'));
    const command = path.join(import.meta.dirname, '../../dist/cli.cjs');
    this.#writeProgram(path.join(programs, 'wherry'), `exec "${process.execPath}" "${command}" "$@"`);
    // As curl does at a terminal.
    writeFileSync(path.join(this.#folder, '.curlrc'), 'silent\nshow-error\n');
    const config = path.join(this.#home, 'kubeconfig');
    const cluster = { name: 'c', cluster: { server: `http://127.0.0.1:${ports[8080]}` } };
    const other = { name: 'production', cluster: { server: `http://127.0.0.1:${ports[8088]}` } };
    const contexts = [cluster, other].map(({ name }) => ({ name, context: { cluster: name } }));
    const kubeconfig = { apiVersion: 'v1', kind: 'Config', clusters: [cluster, other], contexts };
    writeFileSync(config, JSON.stringify({ ...kubeconfig, 'current-context': 'c' }));
    this.#environment = {
      // What the tests tell each other is nothing that a reader of the page has set.
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WHERRY_'))),
      HOME: this.#folder,
      // Clusters are below HOME, as on the page.
      XDG_DATA_HOME: undefined,
      KUBECONFIG: config,
      PATH: [programs, process.env.PATH].join(path.delimiter),
      TZ: 'UTC',
    };
  }

  /** @param ending how a server ends when the page starts the next */
  static async open(
    kubectl: string,
    files: Iterable<readonly [name: string, text: string]>,
    ending: NodeJS.Signals = 'SIGTERM',
  ): Promise<PageSession> {
    const shown = [8080, 6443, 8088, 8443, 8090];
    const free = await freePorts(shown.length);
    const session = new PageSession(
      Object.fromEntries(shown.map((port, i) => [port, free[i]!])),
      kubectl,
      ending,
    );
    for (const [name, text] of files) session.write(name, text);
    return session;
  }

  write(name: string, text: string): void {
    const file = path.join(this.#folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, this.#toRun(text));
  }

  /** Runs a step. Returns undefined, or what was printed instead of what the page shows. */
  async run(step: Step): Promise<string | undefined> {
    const { command, shown } = step;
    const [, file] = /^cat (\S+)$/.exec(command) ?? [];
    if (file) {
      this.write(file, shown);
      return undefined;
    }
    const [, variable, value] = /^export (\w+)=(.*)$/.exec(command) ?? [];
    if (variable) {
      this.#environment[variable] = value!;
      return undefined;
    }
    if (isServer(step)) return this.#serve(step);
    if (isDetached(command)) this.#hasBackground = true;
    const end = performance.now() + waitMaxMs;
    for (;;) {
      const printed = this.#toPage(await this.#execute(this.#withPorts(command)));
      const values = compare(shown, printed);
      for (const [value, own] of values ?? []) this.#values.set(value, own);
      if (values) return undefined;
      if (!isQuestion(command) || performance.now() > end) return printed;
      await pause(pauseMs);
    }
  }

  async close(): Promise<void> {
    await this.#stopServers('SIGTERM');
    if (this.#hasBackground) await this.#execute('wherry delete --all --yes');
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** Stops the servers that the page has started. */
  async stop(): Promise<void> {
    await this.#stopServers(this.ending);
  }

  async #stopServers(signal: NodeJS.Signals): Promise<void> {
    for (const server of this.#servers.splice(0).reverse()) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      const exit = once(server, 'exit');
      server.kill(signal);
      const isEnded = await Promise.race([exit.then(() => true), pause(waitMaxMs, false, { ref: false })]);
      if (isEnded) continue;
      server.kill('SIGKILL');
      throw new Error(`a server did not end after ${signal}`);
    }
  }

  /** Starts a server in the place of the one before, or a node beside it, and waits for what it prints. */
  async #serve({ command, shown }: Step): Promise<string | undefined> {
    // A node and a recorder stand beside the server.
    if (!/^wherry (?:node|record)/.test(command)) await this.#stopServers(this.ending);
    const server = spawn('sh', ['-c', `exec ${this.#withPorts(command)} 2>&1`], {
      cwd: this.#folder,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#servers.push(server);
    let printed = '';
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const isReady = (): boolean =>
      shown.trim()
        ? compare(shown, this.#toPage(printed)) !== undefined
        : /^(?:Wherry is ready|Node) /m.test(printed);
    const end = performance.now() + waitMaxMs;
    while (!isReady()) {
      if (performance.now() > end || server.exitCode !== null) return this.#toPage(printed);
      await pause(pauseMs / 10);
    }
    return undefined;
  }

  #execute(command: string): Promise<string> {
    return new Promise((resolve) => {
      execFile(
        'sh',
        ['-c', `{ ${command}\n} 2>&1`],
        { cwd: this.#folder, env: this.#environment, timeout: waitMaxMs },
        (_, stdout) => resolve(stdout),
      );
    });
  }

  /** Servers get free ports where the page does not choose any; all other ports are exchanged. */
  #withPorts(given: string): string {
    const command = given.replace(/^npm start(?: --)?/, 'wherry up --data-dir .wherry --no-kubeconfig');
    const isOpening = /^wherry (?:up|serve|open|record)\b/.test(command);
    const isSecure = /^wherry (?:up|serve)\b/.test(command);
    const own = [
      ...(isOpening && !command.includes('--port ') ? ['--port 8080'] : []),
      ...(isSecure && !command.includes('--secure-port ') ? ['--secure-port 6443'] : []),
    ];
    return this.#toRun([command, ...own].join(' '));
  }

  #toRun(text: string): string {
    let own = text;
    for (const [shown, value] of this.#values)
      if (/^-|\..*\.|^\d{4}-/.test(shown)) own = own.replaceAll(shown, value);
    return own
      .replace(/\b(?:8080|6443|8088|8443|8090)\b/g, (port) => String(this.ports[port]))
      .replaceAll('/home/me', this.#folder);
  }

  #toPage(text: string): string {
    let page = text
      .replaceAll(this.#folder, '/home/me')
      .replaceAll(hostname(), 'laptop')
      .replaceAll(`http://127.0.0.1:${this.ports[8088]}`, production);
    for (const [shown, port] of Object.entries(this.ports)) page = page.replaceAll(String(port), shown);
    return page;
  }

  #writeProgram(file: string, line: string): void {
    writeFileSync(file, `#!/bin/sh\n${line}\n`);
    chmodSync(file, 0o755);
  }
}
