/**
 * A label that names the agent process of a container that must not outlive it: that of an agent with a temporary
 * folder. When such an agent is killed, the next one on the machine ends its containers.
 */
import { readFile, readlink } from 'node:fs/promises';

/** Process id, start time and PID namespace of this process; undefined where they are not known. */
export const agentLabel = async (): Promise<string | undefined> => {
  const start = await startOf(process.pid);
  return start && `${process.pid}-${start}-${await namespaceOf()}`;
};

/**
 * Whether the agent of a label has ended; false for processes of other PID namespaces, about which nothing is known.
 */
export async function isAbandoned(label: string): Promise<boolean> {
  const [, pid, start, namespace] = /^(\d{1,10})-(\d{1,20})-(\d{1,20})$/.exec(label) ?? [];
  return pid !== undefined && namespace === (await namespaceOf()) && (await startOf(Number(pid))) !== start;
}

const namespaceOf = async (): Promise<string> =>
  /\d+/.exec(await readlink('/proc/self/ns/pid').catch(() => ''))?.[0] ?? '';

/** The start time of a process in clock ticks: a field after its name, which may contain anything. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
}
