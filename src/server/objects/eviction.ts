/** Evictions: `POST …/pods/{name}/eviction` deletes a pod if its disruption budget allows it. */
import type { Eviction } from '../../api/generated/types.ts';
import { modelOf } from '../../api/model/model.ts';
import { isJsonObject } from '../../api/text/object.ts';
import { type Input, readObject } from '../../registry/input.ts';
import type { Target } from '../../registry/target.ts';
import { settleNamespace } from '../../registry/verbs/create.ts';
import { evict } from '../../registry/verbs/eviction.ts';
import type { RequestContext } from '../http/context.ts';
import { checkPathName, objectBody, type Serving, writeRequest } from './objects.ts';
import { answerSuccess } from './presentation.ts';

export async function evictPod(serving: Serving, context: RequestContext, target: Target): Promise<void> {
  checkPathName(target.name);
  const { registry, writing } = serving;
  const request = writeRequest(serving, context, 'CreateOptions');
  context.negotiate('all');
  const input = await objectBody(serving, context, 'Eviction');
  const expected = { kind: 'Eviction', apiVersion: evictionVersion(input), model: modelOf('Eviction') };
  const eviction = readObject(registry.kinds, expected, input, request) as Eviction;
  settleNamespace(target.kind, eviction, target.namespace);
  await evict(writing, request, target, eviction);
  await answerSuccess(context, serving.createStatus);
}

/** The version of an eviction body: both versions have the same fields, and clients send either. */
const evictionVersion = ({ value }: Input): string =>
  isJsonObject(value) && value.apiVersion === 'policy/v1beta1' ? value.apiVersion : 'policy/v1';
