/** Backup: `GET /wherry/backup` streams all stored objects at one revision, as input for `wherry restore`. */
import { methodNotAllowed, unavailable } from '../../api/errors/errors.ts';
import type { Registry } from '../../registry/registry.ts';
import { drained } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';

const path = '/wherry/backup';
/** Bounds on number and time: the store cannot compact while a backup runs. */
const backupsMax = 4;
const stallMaxMs = 30_000;
const durationMaxMs = 60 * 60_000;

const underWay = new WeakMap<Registry, number>();

/** Answers requests for the backup path; returns false for other paths. */
export async function answerBackup(context: RequestContext, registry: Registry): Promise<boolean> {
  if (context.info.path !== path) return false;
  if (context.info.method !== 'GET') throw methodNotAllowed();
  const count = underWay.get(registry) ?? 0;
  if (count >= backupsMax) throw unavailable(`${backupsMax} backups are being taken already`);
  underWay.set(registry, count + 1);
  try {
    await send(context, registry);
  } finally {
    underWay.set(registry, underWay.get(registry)! - 1);
  }
  return true;
}

async function send({ response }: RequestContext, { store }: Registry): Promise<void> {
  const deadlineMs = performance.now() + durationMaxMs;
  for await (const chunk of store.backup()) {
    if (response.destroyed) return;
    if (performance.now() > deadlineMs) throw new Error(`a backup took longer than ${durationMaxMs} ms`);
    if (!response.headersSent)
      response.writeHead(200, {
        'Cache-Control': 'no-cache, private',
        'Content-Type': 'application/octet-stream',
      });
    const stalled = setTimeout(() => response.destroy(), stallMaxMs);
    if (!response.write(chunk)) await drained(response);
    clearTimeout(stalled);
  }
  response.end();
}
