/**
 * The reaper: nothing that a container has started outlives the agent, however the agent ends. A small shell holds
 * the other end of a pipe and a list of sessions; when the pipe ends, it ends them. Should the reaper be gone as
 * well, the next agent finds the same list in a file.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId, findProcesses, isMarked, listProcesses, type Mark, startOf } from './processtable.ts';
import { helperEnv, type Spawner } from './spawner.ts';

/** A reaper that was killed is replaced after this time. */
const restartMs = 500;
/** How often leftovers are looked for again: one may have started another meanwhile. */
const passesMax = 10;
const listName = 'processes.json';
const identityName = 'agent-id';

/**
 * Reads `+PID` and `-PID`. At the end of its input: groups first, then whoever is left of the sessions, then whoever
 * carries the mark of this agent's containers. No other program is needed but for the last.
 */
const script = `
trap '' INT TERM HUP QUIT PIPE
list=' '
while read -r line; do
  case $line in
    +*) list="$list\${line#+} " ;;
    -*) pid=\${line#-}
        case $list in *" $pid "*) list="\${list%% $pid *} \${list#* $pid }" ;; esac ;;
  esac
done
case $list in *[0-9]*) ;; *) exit 0 ;; esac
for pid in $list; do kill -KILL -- "-$pid"; kill -KILL "$pid"; done 2>/dev/null
for folder in /proc/[0-9]*; do
  read -r stat < "$folder/stat" || continue
  set -- \${stat##*) }
  case $list in *" $4 "*) kill -KILL "\${folder#/proc/}" ;; esac
done 2>/dev/null
for file in $(grep -l "WHERRY_CONTAINER=$WHERRY_REAPS/" /proc/[0-9]*/environ 2>/dev/null); do
  pid=\${file#/proc/}
  kill -KILL "\${pid%/environ}"
done 2>/dev/null
`;

interface KeptList {
  readonly boot: string;
  readonly processes: readonly { readonly pid: number; readonly start: string }[];
}

export class Reaper {
  readonly #sessions = new Map<number, string>();
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #stale = false;
  #closed = false;

  private constructor(
    private readonly spawner: Spawner,
    private readonly folder: string,
    /** Names this agent over its restarts. */
    readonly identity: string,
    private readonly onError: (error: Error) => void,
  ) {}

  static async start(spawner: Spawner, folder: string, onError: (error: Error) => void): Promise<Reaper> {
    const reaper = new Reaper(spawner, folder, await identityOf(folder), onError);
    reaper.#begin();
    return reaper;
  }

  /** Takes a new session, before anything else is done with its process. */
  add(pid: number): void {
    this.#sessions.set(pid, '');
    this.#say(`+${pid}`);
    startOf(pid, this.spawner).then((start) => {
      if (start === undefined || !this.#sessions.has(pid)) return;
      this.#sessions.set(pid, start);
      this.#save();
    }, this.onError);
  }

  /** Forgets a session of which nothing is left. */
  remove(pid: number): void {
    if (!this.#sessions.delete(pid)) return;
    this.#say(`-${pid}`);
    this.#save();
  }

  /** The variable that marks all processes of a container. */
  mark(uid: string, container: string): Mark {
    return { text: `WHERRY_CONTAINER=${this.identity}/${uid}/${container}`, prefix: false };
  }

  /** Ends what an earlier agent has left running. */
  async endLeftovers(): Promise<void> {
    const mark = { text: `WHERRY_CONTAINER=${this.identity}/`, prefix: true };
    const sessions = await this.#leftSessions(mark);
    for (let pass = 0; pass < passesMax; pass++) {
      for (const pid of sessions) signalProcess(-pid, 'SIGKILL');
      const found = await findProcesses(sessions, mark);
      if (!found.length) break;
      for (const pid of found) signalProcess(pid, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    this.#save();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.stdin!.end();
      await ended;
    }
    await this.#writing;
  }

  #begin(): void {
    const child = this.spawner.spawn(['/bin/sh', '-c', script], {
      env: { ...helperEnv, WHERRY_REAPS: this.identity },
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // A Ctrl-C at the agent's terminal is not for the reaper.
      detached: true,
    });
    this.#child = child;
    child.stdin!.on('error', () => undefined);
    child.on('error', this.onError).on('exit', () => {
      if (this.#closed || this.#child !== child) return;
      this.#restart = setTimeout(() => this.#begin(), restartMs);
    });
    for (const pid of this.#sessions.keys()) this.#say(`+${pid}`);
  }

  #say(line: string): void {
    const { stdin } = this.#child ?? {};
    if (stdin?.writable) stdin.write(`${line}\n`);
  }

  /** Writes the list; changes meanwhile are written together afterwards. */
  #save(): void {
    this.#stale = true;
    this.#writing ??= this.#write()
      .catch(this.onError)
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async #write(): Promise<void> {
    const path = join(this.folder, listName);
    while (this.#stale) {
      this.#stale = false;
      const processes = [...this.#sessions]
        .map(([pid, start]) => ({ pid, start }))
        .filter(({ start }) => start);
      const list: KeptList = { boot: bootId(), processes };
      await writeFile(`${path}.new`, JSON.stringify(list), { mode: 0o600 });
      await rename(`${path}.new`, path);
    }
  }

  /**
   * Sessions of the list that are still those of the list: the leader has the same start, or the leader is gone and
   * somebody with the mark is left. A number that others have got since is left alone.
   */
  async #leftSessions(mark: Mark): Promise<Set<number>> {
    const list = await readList(join(this.folder, listName));
    const left = new Set<number>();
    if (!list || list.boot !== bootId()) return left;
    let entries: readonly { pid: number; session: number }[] | undefined;
    for (const { pid, start } of list.processes) {
      const now = await startOf(pid, this.spawner);
      if (now === start) left.add(pid);
      if (now !== undefined) continue;
      entries ??= await listProcesses(this.spawner);
      if (entries.some((entry) => entry.session === pid && isMarked(entry.pid, mark))) left.add(pid);
    }
    return left;
  }
}

/** Signals a group; one that has not yet become one gets it as a process. */
export function signalSession(pid: number, signal: NodeJS.Signals | number): void {
  if (!signalProcess(-pid, signal)) signalProcess(pid, signal);
}

/** Whether there was somebody to get it. */
export function signalProcess(pid: number, signal: NodeJS.Signals | number): boolean {
  // 0 and 1 stand for the own group and for everybody.
  if (!Number.isInteger(pid) || Math.abs(pid) < 2) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function identityOf(folder: string): Promise<string> {
  const path = join(folder, identityName);
  const known = await readFile(path, 'utf8').catch(() => '');
  if (/^[0-9a-f-]{36}$/.test(known)) return known;
  const identity = randomUUID();
  await writeFile(path, identity, { mode: 0o600 });
  return identity;
}

async function readList(path: string): Promise<KeptList | undefined> {
  try {
    const list = JSON.parse(await readFile(path, 'utf8')) as KeptList;
    const sound = list.processes.every(({ pid, start }) => Number.isInteger(pid) && pid > 1 && !!start);
    return sound ? list : undefined;
  } catch {
    return undefined;
  }
}
