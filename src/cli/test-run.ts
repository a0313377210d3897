/**
 * `wherry test -- COMMAND…`: runs a command against a fresh cluster in this process, and ends with its exit code. The
 * command finds the cluster by the variables `KUBECONFIG` and `WHERRY_URL`; its input and output are those of `wherry`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import type { Cluster } from '../cluster/index.ts';
import { makeTemporaryFolder } from '../cluster/shared/temporary-folder.ts';

const administrator = 'wherry-admin';
/** Exit codes of a shell for a command that does not exist, or cannot be run. */
const notFound = 127;
const notRunnable = 126;
/** What a shell adds to the number of the signal that ended a command. */
const signalBase = 128;

/** Signals sent to one process, by `kill`: passed on to the command. */
const sent = ['SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;
/** Signals typed at a terminal, which sends them to the command itself. */
const typed = ['SIGINT', 'SIGQUIT'] as const;

export interface TestRun {
  readonly cluster: Cluster;
  readonly program: readonly string[];
  /** Leave the cluster running when the program fails. */
  readonly keeps: boolean;
}

/** Resolves with the exit code, when everything is closed. */
export async function runTest({ cluster, program, keeps }: TestRun): Promise<number> {
  const folder = await makeTemporaryFolder(tmpdir(), 'wherry-run-');
  const kubeconfig = path.join(folder, 'kubeconfig');
  try {
    const config =
      cluster.secureUrl === undefined ? cluster.kubeconfig : cluster.kubeconfigFor(administrator);
    await writeFile(kubeconfig, config, { mode: 0o600 });
    const signals = new Signals();
    const code = await signals.during(started(program, kubeconfig, cluster.url));
    if (keeps && code !== 0 && signals.count === 0) {
      process.stderr.write(lookInside(code, cluster.url, kubeconfig));
      await signals.next();
    }
    return code;
  } finally {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function started([file, ...args]: readonly string[], kubeconfig: string, url: string): ChildProcess {
  const env = { ...process.env, KUBECONFIG: kubeconfig, WHERRY_URL: url };
  return spawn(file!, args, { stdio: 'inherit', env });
}

/** Signals for this process: passed on to the command while it runs. */
class Signals {
  #child: ChildProcess | undefined;
  #wake: (() => void) | undefined;
  count = 0;

  constructor() {
    for (const signal of sent) process.on(signal, () => this.#take(signal, true));
    const isAtTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
    for (const signal of typed) process.on(signal, () => this.#take(signal, !isAtTerminal));
  }

  #take(signal: NodeJS.Signals, passesOn: boolean): void {
    this.count++;
    if (passesOn) this.#child?.kill(signal);
    this.#wake?.();
  }

  /** Resolves with the exit code of the command. */
  during(child: ChildProcess): Promise<number> {
    this.#child = child;
    return new Promise((resolve) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        process.stderr.write(`wherry: the command cannot be run: ${error.message}\n`);
        resolve(error.code === 'ENOENT' ? notFound : notRunnable);
      });
      child.once('exit', (code, signal) => resolve(code ?? signalBase + constants.signals[signal!]));
    }).finally(() => {
      this.#child = undefined;
    }) as Promise<number>;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

const lookInside = (code: number, url: string, kubeconfig: string): string =>
  `wherry: the command ended with code ${code}; its cluster still runs at ${url}
  KUBECONFIG=${kubeconfig} kubectl get events,all -A
  curl ${url}/api/v1/events
End it with Ctrl-C or kill ${process.pid}.
`;
