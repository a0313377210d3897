/** The cleaner: deletes old signing requests, once an hour. A request is of no use once it is decided. */
import { X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { conditionsOf } from '../../api/rules/access/signing-conditions.ts';
import { timeToMs } from '../../api/values/time.ts';
import { certificatesIn } from '../../pki/pem.ts';
import { signingRequestId } from '../../registry/admission/signing-requests.ts';
import { targetOf } from '../../registry/target.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { everything } from '../../registry/view/filter.ts';
import { type Controller, ifUnchanged, running, type SharedContext } from '../shared/controller.ts';
import { WorkQueue } from '../shared/work-queue.ts';

const hourMs = 3_600_000;
const sweepMs = hourMs;
/** How long requests are kept: decided ones, and those still waiting. */
const decidedMs = hourMs;
const waitingMs = 24 * hourMs;
/** The single key of the work queue. */
const sweep = 'sweep';

export const certificateCleaner: Controller = {
  name: 'csrcleaner',
  housekeeping: true,
  writer: 'certificate-controller',
  start(context) {
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: async () => {
        queue.addAfter(sweep, sweepMs);
        await clean(context);
      },
      onError: (_, error) => context.onError(error),
    });
    queue.add(sweep);
    return running([], [queue]);
  },
};

async function clean({ registry, writing, request }: SharedContext): Promise<void> {
  for (const entry of registry.view.collection(signingRequestId).select(everything).entries) {
    const object = entry.peek() as CertificateSigningRequest;
    if (!isOver(object, registry.sources.nowMs())) continue;
    const preconditions = { uid: object.metadata.uid };
    await ifUnchanged(remove(writing, request('delete'), targetOf(entry), { preconditions }));
  }
}

function isOver(request: CertificateSigningRequest, nowMs: number): boolean {
  const { certificate } = request.status ?? {};
  const isOlder = (time: string | null | undefined, ageMs: number): boolean =>
    time !== undefined && time !== null && nowMs - timeToMs(time) > ageMs;
  if (certificate && hasExpired(certificate, nowMs)) return true;
  const conditions = conditionsOf(request);
  for (const { type, lastUpdateTime } of conditions) {
    if ((type === 'Denied' || type === 'Failed') && isOlder(lastUpdateTime, decidedMs)) return true;
    if (type === 'Approved' && isOlder(lastUpdateTime, certificate ? decidedMs : waitingMs)) return true;
  }
  const undecided = !conditions.some(({ type }) => ['Approved', 'Denied', 'Failed'].includes(type ?? ''));
  return undecided && isOlder(request.metadata.creationTimestamp, waitingMs);
}

function hasExpired(certificate: string, nowMs: number): boolean {
  const [leaf] = certificatesIn(Buffer.from(certificate, 'base64').toString('latin1'));
  return leaf !== undefined && Date.parse(new X509Certificate(leaf).validTo) < nowMs;
}
