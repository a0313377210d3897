/** Bindings: assign pods to nodes, by `…/pods/{name}/binding` or the older `…/bindings`, whose body names the pod. */
import { methodNotAllowed, resourceNotFound } from '../../api/errors/errors.ts';
import type { Binding } from '../../api/generated/types.ts';
import { modelOf } from '../../api/model/model.ts';
import { readObject } from '../../registry/input.ts';
import type { Target } from '../../registry/target.ts';
import { bind } from '../../registry/verbs/binding.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import { objectBody, type Serving, writeRequest } from './objects.ts';
import { answerSuccess } from './presentation.ts';

/** `POST …/bindings`; bindings cannot be read. */
export function createBinding(serving: Serving, context: RequestContext, info: ResourceInfo): Promise<void> {
  if (info.name !== undefined) throw resourceNotFound();
  if (context.info.method !== 'POST') throw methodNotAllowed();
  const kind = serving.registry.kinds.resource('v1', 'pods')!;
  return bindPod(serving, context, { kind, namespace: info.namespace ?? '', name: '', part: 'binding' });
}

/** Binds a pod; namespace and name that the path lacks are taken from the body. */
export async function bindPod(serving: Serving, context: RequestContext, asked: Target): Promise<void> {
  const { registry, writing } = serving;
  const request = writeRequest(serving, context, 'CreateOptions');
  context.negotiate('all');
  const input = await objectBody(serving, context, 'Binding');
  const expected = { kind: 'Binding', apiVersion: 'v1', model: modelOf('Binding') };
  const binding = readObject(registry.kinds, expected, input, request) as Binding;
  const target: Target = {
    ...asked,
    namespace: asked.namespace || binding.metadata.namespace || 'default',
    name: asked.name || (binding.metadata.name ?? ''),
  };
  await bind(writing, request, target, binding, serving.compatibility);
  await answerSuccess(context, serving.createStatus);
}
