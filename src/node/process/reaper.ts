/**
 * The reaper: ensures that nothing a container has started outlives the agent, however the agent ends. A
 * small shell script reads from a pipe and keeps a list of sessions; when the pipe closes, it kills them. If
 * the reaper is killed as well, the next agent finds the same list in a file.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { platform } from '../../platform.ts';
import { bootId, findProcesses, isMarked, listProcesses, type Mark, startOf } from './process-table.ts';
import { removeUnfinished, replaceFile } from './replaced-file.ts';
import { signalProcess, signalSession } from './signals.ts';
import { helperEnv, type Spawner } from './spawner.ts';
import { reaperCommand } from './windows-tree.ts';

/** A killed reaper is replaced after this time. */
const restartMs = 500;
/** Maximum number of passes over leftovers: one may have forked since the last pass. */
const passesMax = 10;
const listName = 'processes.json';
const identityName = 'agent-id';

/**
 * Reads lines `+PID` and `-PID`. At end of file it kills the process groups, then the rest of the sessions,
 * then every process with the tag or the mark of this agent's containers. It repeats that while it finds
 * processes, as one may have forked. Then it unmounts volumes in memory and removes the agent's cgroups with
 * all processes in them.
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
exec 2>/dev/null
found() {
  grep -l "^Max file locks *[^ ]* *$WHERRY_TAG" /proc/[0-9]*/limits
  grep -l "WHERRY_CONTAINER=$WHERRY_REAPS/" /proc/[0-9]*/environ
}
case $list in *[0-9]*)
  for pid in $list; do kill -KILL "-$pid"; kill -KILL "$pid"; done
  for folder in /proc/[0-9]*; do
    read -r stat < "$folder/stat" || continue
    set -- \${stat##*) }
    case $list in *" $4 "*) kill -KILL "\${folder#/proc/}" ;; esac
  done
  for pass in 1 2 3 4 5 6 7 8 9 10; do
    files=$(found)
    [ -n "$files" ] || break
    for file in $files; do
      pid=\${file#/proc/}
      kill -KILL "\${pid%/*}"
    done
  done ;;
esac
while read -r device point type rest; do
  case $type:$point in
    tmpfs:"$WHERRY_PODS"/*/volumes/*)
      umount -l "$(printf %b "$(printf %s "$point" | sed 's/\\\\/\\\\0/g')")" ;;
  esac
done < /proc/mounts
IFS='
'
for group in $WHERRY_GROUPS; do
  for procs in "$group"/*/*/cgroup.procs; do
    while read -r pid; do kill -KILL "$pid"; done < "$procs"
  done
  for pass in 1 2 3 4 5 6 7 8 9 10; do
    rmdir "$group"/*/* "$group"/* "$group"
    [ -e "$group" ] || break
    sleep 0.1
  done
  rmdir "\${group%/*}"
done
`;

interface KeptList {
  readonly boot: string;
  readonly processes: readonly { readonly pid: number; readonly start: string }[];
}

export interface ReaperOptions {
  readonly spawner: Spawner;
  /** The agent's own folder. */
  readonly folder: string;
  /** Identifies this agent across restarts. */
  readonly identity: string;
  /** The prefix of its processes' tags. */
  readonly tag: string;
  /** Folders of its cgroups. */
  readonly groups: readonly string[];
  readonly onError: (error: Error) => void;
}

export class Reaper {
  readonly #sessions = new Map<number, string>();
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #stale = false;
  #closed = false;

  constructor(private readonly options: ReaperOptions) {
    this.#begin();
  }

  /** Adds a new session. Call it right after the start, before anything else. */
  add(pid: number): void {
    this.#sessions.set(pid, '');
    this.#say(`+${pid}`);
    startOf(pid, this.options.spawner).then((start) => {
      if (start === undefined || !this.#sessions.has(pid)) return;
      this.#sessions.set(pid, start);
      this.#save();
    }, this.options.onError);
  }

  /** Forgets a session whose processes have all ended. */
  remove(pid: number): void {
    if (!this.#sessions.delete(pid)) return;
    this.#say(`-${pid}`);
    this.#save();
  }

  /** The mark of all processes of one run of a container: a variable, and the tag. */
  mark(uid: string, container: string, tag: string | undefined): Mark {
    return { text: `WHERRY_CONTAINER=${this.options.identity}/${uid}/${container}`, tag, prefix: false };
  }

  /** Ends what an earlier agent has left running. */
  async endLeftovers(): Promise<void> {
    const { identity, tag } = this.options;
    const mark = { text: `WHERRY_CONTAINER=${identity}/`, tag, prefix: true };
    await removeUnfinished(join(this.options.folder, listName));
    const sessions = await this.#leftSessions(mark);
    for (let pass = 0; pass < passesMax; pass++) {
      for (const pid of sessions) signalSession(pid, 'SIGKILL');
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
    const { spawner, folder, identity, tag, groups, onError } = this.options;
    const child = spawner.spawn(platform.isWindows ? reaperCommand : ['/bin/sh', '-c', script], {
      env: {
        ...helperEnv,
        WHERRY_REAPS: identity,
        WHERRY_TAG: tag,
        WHERRY_GROUPS: groups.join('\n'),
        // Escaped as in the kernel's mount table.
        WHERRY_PODS: join(folder, 'pods').replace(/[ \t\n\\]/g, octal),
      },
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: parse(folder).root,
      // Its own process group, so that a Ctrl-C in the agent's terminal does not end the reaper.
      detached: true,
    });
    this.#child = child;
    child.stdin!.on('error', () => undefined);
    child.on('error', onError).on('exit', () => {
      if (this.#closed || this.#child !== child) return;
      this.#restart = setTimeout(() => this.#begin(), restartMs);
    });
    for (const pid of this.#sessions.keys()) this.#say(`+${pid}`);
  }

  #say(line: string): void {
    const { stdin } = this.#child ?? {};
    if (stdin?.writable) stdin.write(`${line}\n`);
  }

  /** Writes the list; changes during a write are written together afterwards. */
  #save(): void {
    this.#stale = true;
    this.#writing ??= this.#write()
      .catch(this.options.onError)
      .finally(() => {
        this.#writing = undefined;
      });
  }

  async #write(): Promise<void> {
    const path = join(this.options.folder, listName);
    while (this.#stale) {
      this.#stale = false;
      const processes = [...this.#sessions]
        .map(([pid, start]) => ({ pid, start }))
        .filter(({ start }) => start);
      const list: KeptList = { boot: bootId(), processes };
      await replaceFile(path, JSON.stringify(list), 0o600);
    }
  }

  /**
   * Sessions of the list that still exist: the leader has the same start time, or the leader is gone and a
   * process with the mark is left. A reused pid is left alone.
   */
  async #leftSessions(mark: Mark): Promise<Set<number>> {
    const list = await readList(join(this.options.folder, listName));
    const left = new Set<number>();
    if (!list || list.boot !== bootId()) return left;
    let entries: readonly { pid: number; session: number }[] | undefined;
    for (const { pid, start } of list.processes) {
      const now = await startOf(pid, this.options.spawner);
      if (now === start) left.add(pid);
      if (now !== undefined) continue;
      entries ??= await listProcesses(this.options.spawner);
      if (entries.some((entry) => entry.session === pid && isMarked(entry.pid, mark))) left.add(pid);
    }
    return left;
  }
}

const octal = (character: string): string => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;

/** Identifies an agent across restarts. */
export async function identityOf(folder: string): Promise<string> {
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
