/** Protobuf lists, joined from the messages that are cached for each object (`registry/view/entry-messages.ts`). */
import { modelOf } from '../../api/model/model.ts';
import { listEnvelope, type ProtobufDocument } from '../../api/protobuf/protobuf-envelope.ts';
import { prepareMany } from '../../registry/view/entry-messages.ts';
import type { Form } from '../../registry/view/forms.ts';
import type { Page } from '../../registry/view/page.ts';
import { answerItems, isCompressed } from '../http/compressed-items.ts';
import type { RequestContext } from '../http/context.ts';
import { answerParts, type LongValue, wholeValue } from '../http/long-answer.ts';
import { protobufType } from '../http/negotiation.ts';
import { Pace } from '../wire/pace.ts';

/** A list whose JSON text is up to this size is built as a whole, which is faster. */
const wholeBytesMax = 4 * 1024 * 1024;
/** Objects are sent in parts whose JSON text has this size. */
const partBytes = 128 * 1024;
/** Bytes of items that are encoded between two checks of the clock. */
const stepBytes = 16 * 1024;

/** @param audited the list as a value, for the audit log */
export async function answerMessages(
  context: RequestContext,
  type: { readonly kind: string; readonly apiVersion: string },
  metadata: Record<string, unknown>,
  page: Page,
  form: Form<ProtobufDocument>,
  audited: LongValue,
): Promise<void> {
  const envelope = (bytes: number) =>
    listEnvelope(type, { model: modelOf('ListMeta'), value: metadata }, bytes);
  const take = (bytes: number) => context.audited?.takeAnswer(bytes, () => wholeValue(audited));
  if (page.textBytes > wholeBytesMax) {
    form.makeRoom(page.entries.length, page.textBytes);
    await prepareMany();
  }
  // A message is preceded by its length, so all objects are encoded before the first is sent.
  const bytes = page.hasMessages(form) ? 0 : await encodedBytes(context, page, form);
  if (context.response.destroyed) return;
  if (page.textBytes <= wholeBytesMax) {
    const items = page.messages(form, isCompressed(context, bytes || page.textBytes));
    const { head, end } = envelope(items.length);
    take(items.length);
    return answerItems(context, [head, items, end], protobufType);
  }
  const { head, end } = envelope(bytes);
  take(bytes);
  const parts = function* (): Generator<Buffer, void, undefined> {
    yield head;
    yield* page.messageParts(form, partBytes);
    yield end;
  };
  await answerParts(context, 200, parts(), head.length + bytes + end.length, protobufType);
}

/** The bytes of all messages, encoded in turns. */
async function encodedBytes(
  { response }: RequestContext,
  page: Page,
  form: Form<ProtobufDocument>,
): Promise<number> {
  const pace = new Pace();
  let bytes = 0;
  for (const some of page.messageBytes(form, stepBytes)) {
    bytes += some;
    const pause = pace.pause();
    if (pause) await pause;
    if (response.destroyed) break;
  }
  return bytes;
}
