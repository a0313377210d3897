/** The termination message of a container: from its message file, or the end of its log. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Container } from '../../api/generated/types.ts';
import type { ContainerLog } from '../runtime/runtime.ts';

/** Length of a message; a longer file is cut to its end, as kubelets do. */
const messageBytesMax = 4096;
const logBytesMax = 2048;
const logLinesMax = 80;

export const messagePathDefault = '/dev/termination-log';

/** The message that a container left when it ended, or undefined. */
export async function terminationMessage(
  container: Container,
  file: string,
  log: ContainerLog,
  failed: boolean,
): Promise<string | undefined> {
  const message = await fileEnd(file);
  if (message || !failed || container.terminationMessagePolicy !== 'FallbackToLogsOnError')
    return message || undefined;
  return (await logEnd(log)) || undefined;
}

async function fileEnd(path: string): Promise<string> {
  // The container controls this file: do not follow links, and do not block on a FIFO.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(path, flags).catch(() => undefined);
  if (!handle) return '';
  try {
    const found = await handle.stat();
    if (!found.isFile()) return '';
    const length = Math.min(found.size, messageBytesMax);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, found.size - length);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } catch {
    return '';
  } finally {
    await handle.close();
  }
}

async function logEnd(log: ContainerLog): Promise<string> {
  let end = Buffer.alloc(0);
  const query = { follow: false, timestamps: false, tailLines: logLinesMax };
  for await (const piece of log.read(query, new AbortController().signal))
    end = Buffer.concat([end, piece.subarray(-logBytesMax)]).subarray(-logBytesMax);
  return end.toString('utf8');
}
