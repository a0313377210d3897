/** Update: a PUT replaces an object, or one of its parts. */
import { badRequest, StatusError, withoutVersion } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { keepFinalizer } from '../../api/rules/pod/in-use-protection.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { create, settleNamespace } from './create.ts';
import { finalizeLate } from './late-finalize.ts';
import { checkPreconditions, modify } from './modify.ts';

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

/** Copies from the stored object values that the server set and the client left out. */
function takeServerValues({ finalizing }: Writing, kind: Kind, object: ApiObject, current: Entry): void {
  const finalizer = finalizing.kept ? kind.storage.deletion.protection?.finalizer : undefined;
  if (!kind.takeServerValues && !finalizer) return;
  const old = kind === current.kind ? current.peek() : current.object(kind);
  kind.takeServerValues?.(object, old);
  if (finalizer) keepFinalizer(object.metadata, old.metadata, finalizer);
}

/** `read` decodes the body again for every attempt, because an attempt changes the object. */
export async function update(
  writing: Writing,
  request: Request,
  target: Target,
  read: () => ApiObject,
  /** Rejects when the client may not create the object; called only if the object does not exist. */
  mayCreate: () => Promise<void> = async () => undefined,
): Promise<{ entry: Entry; created: boolean }> {
  const { kind, namespace, name, part } = target;
  const replacement = (current?: Entry): ApiObject => {
    const object = read();
    if (current && part === 'main') takeServerValues(writing, kind, object, current);
    kind.defaults?.(object);
    checkName(object, name);
    settleNamespace(kind, object, namespace);
    if (current && kind.versionRequired && !Number(object.metadata.resourceVersion)) {
      checkPreconditions(kind, name, object.metadata, current, current.peek());
      throw withoutVersion(kind, name);
    }
    return object;
  };
  if (writing.finalizing.late && kind.changes[part]?.mayComeLate)
    return { entry: await finalizeLate(writing, request, target, replacement), created: false };
  try {
    return { entry: await modify(writing, request, target, replacement), created: false };
  } catch (error) {
    if (!(error instanceof StatusError && error.code === 404 && kind.createOnUpdate && part === 'main'))
      throw error;
  }
  await mayCreate();
  const object = replacement();
  delete object.metadata.resourceVersion;
  return { entry: await create(writing, request, target, object), created: true };
}
