/**
 * Conversion of written objects by webhooks. A webhook takes time, so objects are converted before they are stored, and
 * the rest of the registry finds the result by the object. `view/entry-conversion.ts` does the same for reads. Kinds
 * without a webhook are not affected.
 */
import { plain, StatusError } from '../../api/errors/errors.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { jsonText } from '../../api/text/json-text.ts';
import type { ApiObject } from '../../api/text/object.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';

/** Maximum number of webhook calls for comparing one write with field owners in other versions. */
const comparisonCallsMax = 100;

/** The stored forms of objects that are about to be written. */
const prepared = new WeakMap<ApiObject, ApiObject>();

/** Converts an object to the version in which its kind is stored; undefined when that is not needed. */
export function preparedToStore(kind: Kind, object: ApiObject): Promise<void> | undefined {
  if (!kind.conversion || kind === kind.storage) return undefined;
  return kind.conversion.convert([object], kind.storage).then(([stored]) => {
    prepared.set(object, stored!);
  });
}

/** The stored form of an object, for `stored.toStored` of its kind. */
export function preparedForm(object: ApiObject): ApiObject {
  const stored = prepared.get(object);
  if (!stored) throw new Error('an object was not converted before it was stored');
  return stored;
}

/** The webhook's answers for a request, by version and text of the object; an error when it failed. */
interface Answers {
  readonly known: Map<string, ApiObject | StatusError>;
  /** Number of writes that use the answers: a request may change several objects at the same time. */
  writes: number;
}

const answers = new WeakMap<Request, Answers>();

/** Thrown to give up a computation that needs an object in another version, until a webhook has converted it. */
class ConversionNeeded extends Error {
  constructor(
    readonly key: string,
    readonly object: ApiObject,
    readonly to: Kind,
  ) {
    super(`a ${to.kind} is needed as ${to.apiVersion}`);
  }
}

/** An object in another version. Throws `ConversionNeeded` when the webhook has not converted it yet. */
export function answeredAs(request: Request, to: Kind, object: ApiObject): ApiObject {
  const key = `${to.apiVersion} ${jsonText(object)}`;
  const answer = answers.get(request)?.known.get(key);
  if (!answer) throw new ConversionNeeded(key, object, to);
  if (answer instanceof StatusError) throw answer;
  return structuredClone(answer);
}

/**
 * Runs a computation that may need objects in versions into which a webhook converts. When one is missing, the
 * computation is abandoned, and started again when the webhook has answered.
 */
export async function withConversions<T>(
  registry: Registry,
  request: Request,
  compute: () => T | Promise<T>,
): Promise<T> {
  const shared = answers.get(request) ?? { known: new Map(), writes: 0 };
  const { known } = shared;
  answers.set(request, shared);
  shared.writes++;
  try {
    for (let calls = 0; ; calls++)
      try {
        return await compute();
      } catch (error) {
        if (!(error instanceof ConversionNeeded)) throw error;
        if (calls >= comparisonCallsMax) throw plain('the object is owned in too many versions');
        const { key, object, to } = error;
        const asking = to.conversion!.convert([object], to).then(
          ([there]) => void known.set(key, there!),
          (failure) => {
            if (!(failure instanceof StatusError)) throw failure;
            known.set(key, failure);
          },
        );
        await registry.inTime(asking, request.deadlineMs);
      }
  } finally {
    if (--shared.writes === 0) answers.delete(request);
  }
}
