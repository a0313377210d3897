/** Update: a PUT replaces an object, its status, or the finalizers of a namespace. */
import { badRequest, StatusError, withoutVersion } from '../api/errors.ts';
import type { ApiObject } from '../api/object.ts';
import { create, settleNamespace } from './create.ts';
import type { Entry } from './entry.ts';
import { modify } from './modify.ts';
import type { Registry } from './registry.ts';
import type { Request } from './request.ts';
import type { Target } from './target.ts';

/** Checks that the name in the body is the one in the path. */
export function checkName(object: ApiObject, name: string): void {
  const sent = object.metadata.name;
  if (!sent)
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (sent !== name)
    throw badRequest(`the name of the object (${sent}) does not match the name on the URL (${name})`);
}

/** `read` decodes the body again for every attempt, because an attempt changes the object. */
export async function update(
  registry: Registry,
  request: Request,
  target: Target,
  read: () => ApiObject,
): Promise<{ entry: Entry; created: boolean }> {
  const { kind, namespace, name, part } = target;
  const replacement = (current?: Entry): ApiObject => {
    const object = read();
    if (current && part === 'main' && kind.takeServerValues)
      kind.takeServerValues(object, kind === current.kind ? current.peek() : current.object(kind));
    kind.defaults?.(object);
    checkName(object, name);
    settleNamespace(kind, object, namespace);
    if (current && kind.versionRequired && !Number(object.metadata.resourceVersion))
      throw withoutVersion(kind, name);
    return object;
  };
  try {
    return { entry: await modify(registry, request, target, replacement), created: false };
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404 && kind.createOnUpdate && part === 'main'))
      throw error;
  }
  const object = replacement();
  delete object.metadata.resourceVersion;
  return { entry: await create(registry, request, target, object), created: true };
}
