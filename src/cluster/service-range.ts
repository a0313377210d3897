/**
 * The range of service addresses in effect: the stored one, if an earlier start has stored one. A server that is
 * started with another range reports that and uses the stored one, because services have addresses of it.
 */
import type { Verb } from '../api/kind/kind.ts';
import { recorderFor } from '../controllers/shared/event-sink.ts';
import { parseIPRanges } from '../registry/allocation/ip-allocator.ts';
import { ownRangeName } from '../registry/allocation/service-ranges.ts';
import { addsFamily, storedServiceRange } from '../registry/system/own-service-range.ts';
import type { View } from '../registry/view/view.ts';
import { actingAs } from '../registry/writers.ts';
import type { Writing } from '../registry/writing.ts';

export interface RangeInForce {
  readonly text: string;
  /** The range the server was started with, if it differs. */
  readonly refused?: string;
}

export function rangeInForce(view: View, wanted: string): RangeInForce {
  const stored = storedServiceRange(view);
  if (stored === undefined || stored === wanted || !parseIPRanges(stored)) return { text: wanted };
  if (addsFamily(wanted, stored)) return { text: wanted };
  return { text: stored, refused: wanted };
}

/** Reports a range that is not used, in a warning and an event. */
export async function tellRefusedRange(
  writing: Writing,
  { text, refused }: RangeInForce,
  warn: (message: string) => void,
  onError: (error: Error) => void,
): Promise<void> {
  if (refused === undefined) return;
  const { registry } = writing;
  warn(`services keep the range ${text}, which is stored in the cluster, instead of ${refused}`);
  const request = (verb: Verb) => actingAs('kube-apiserver', verb);
  const recorder = recorderFor({ registry, writing, request, onError }, 'kubernetes-service-cidr-controller');
  const stored = registry.view.collection('networking.k8s.io/servicecidrs').get('', ownRangeName)!;
  recorder.warning(
    stored.object(),
    'KubernetesDefaultServiceCIDRInconsistent',
    `The default ServiceCIDR [${text}] does not match the flag configurations [${refused}]`,
  );
  await recorder.flushed();
}
