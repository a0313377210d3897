/** Scaling: `…/scale`, read, replaced and patched. */
import { methodNotAllowed } from '../../api/errors/errors.ts';
import { readObject } from '../../registry/input.ts';
import type { Target } from '../../registry/target.ts';
import { applyScale } from '../../registry/verbs/apply.ts';
import { read } from '../../registry/verbs/list.ts';
import { patched } from '../../registry/verbs/patch.ts';
import { rescale, type Scale, type ScaleForm, scaleOf } from '../../registry/verbs/scale.ts';
import { converted } from '../../registry/view/entry-conversion.ts';
import type { RequestContext } from '../http/context.ts';
import { messagesOf } from '../http/negotiation.ts';
import { applyBody } from './applying.ts';
import { checkPathName, objectBody, patchBody, patchType, type Serving, writeRequest } from './objects.ts';
import { answerObject } from './presentation.ts';

export async function scaleObject(
  serving: Serving,
  context: RequestContext,
  target: Target,
  form: ScaleForm,
): Promise<void> {
  const { registry, writing } = serving;
  const { kind } = target;
  checkPathName(target.name);
  context.negotiate(messagesOf(form));
  const answer = (scale: Scale) => answerObject(context, 200, form, scale, registry.sources.nowMs());
  switch (context.info.method) {
    case 'GET': {
      const entry = await read(registry, target, context.query.get('resourceVersion'));
      await converted(kind, [entry]);
      return answer(scaleOf(entry, form, kind));
    }
    case 'PUT': {
      const request = writeRequest(serving, context, 'UpdateOptions');
      const input = await objectBody(serving, context, 'Scale');
      const wanted = () => readObject(registry.kinds, form, input, request);
      return answer(await rescale(writing, request, target, form, wanted));
    }
    case 'PATCH': {
      const type = patchType(serving, context, kind);
      const request = writeRequest(serving, context, 'PatchOptions', type === 'apply');
      if (type === 'apply')
        return answer(await applyScale(writing, request, target, form, await applyBody(serving, context)));
      const change = await patchBody(serving, context, type);
      const wanted = (current: object) => patched(change, form, current, request);
      return answer(await rescale(writing, request, target, form, wanted));
    }
    default:
      throw methodNotAllowed();
  }
}
