/**
 * Says which agent a container belongs to that must not outlive it: an agent with a temporary folder. When such an agent
 * is killed, the next one on the machine ends its containers.
 */
import { readFile } from 'node:fs/promises';

/** Process id and start time of this process; undefined where they cannot be found out. */
export const agentLabel = async (): Promise<string | undefined> => {
  const start = await startOf(process.pid);
  return start && `${process.pid}-${start}`;
};

/** Whether the agent of a label has ended. */
export async function isAbandoned(label: string): Promise<boolean> {
  const [, pid, start] = /^(\d{1,10})-(\d{1,20})$/.exec(label) ?? [];
  return pid !== undefined && (await startOf(Number(pid))) !== start;
}

/** The start of a process in clock ticks, behind its name, which may contain anything. */
async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
}
