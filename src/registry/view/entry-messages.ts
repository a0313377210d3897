/**
 * Entries in protobuf: whole, or reduced to their metadata. Encoded once per version of an object (`forms.ts`), for reads,
 * lists and watches.
 */
import type { Kind } from '../../api/kind/kind.ts';
import { type Model, modelOf } from '../../api/model/model.ts';
import { encodeDocument, eventFrame, type ProtobufDocument } from '../../api/protobuf/protobuf-envelope.ts';
import type { textDocument as TextDocument } from '../../api/protobuf/text-message.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import { asserting, optimized } from '../../switches.ts';
import type { Entry } from './entry.ts';
import { Form } from './forms.ts';
import type { NoticeForm } from './watch-event.ts';

const bytesOf = ({ bytes }: ProtobufDocument): number => bytes.length;

const whole = new Memo(
  (kind: Kind) => new Form((entry) => documentOf(kind, kind.model, entry, kind), bytesOf),
);

const metadataOnly = (apiVersion: string): Memo<Kind, Form<ProtobufDocument>> =>
  new Memo((kind: Kind) => {
    const type = { kind: 'PartialObjectMetadata', apiVersion };
    const model = modelOf('PartialObjectMetadata');
    return new Form((entry) => documentOf(type, model, entry, kind), bytesOf);
  });

/** Makes messages from texts, once it is there. */
let textDocument: typeof TextDocument | undefined;

/** To be called before a long list: until then, messages are made of parsed objects. */
export async function prepareMany(): Promise<void> {
  ({ textDocument } = await import('../../api/protobuf/text-message.ts'));
}

/** @param as the version in which the object is read */
function documentOf(
  type: { readonly kind: string; readonly apiVersion: string },
  model: Model,
  entry: Entry,
  as: Kind,
): ProtobufDocument {
  const isStored = optimized && as === entry.kind && entry.isReadableAs(as);
  const fromText = isStored ? textDocument?.(type, model, entry.document, entry.length) : undefined;
  if (fromText && !asserting) return fromText;
  const encoded = encodeDocument(type, model, entry.encodable(as) as unknown as JsonObject);
  if (fromText && !fromText.bytes.equals(encoded.bytes))
    throw new Error(`the message of a ${as.kind} is another when it is made from its text`);
  return encoded;
}

const partial = new Map(
  ['meta.k8s.io/v1', 'meta.k8s.io/v1beta1'].map((version) => [version, metadataOnly(version)]),
);

/** @param partialVersion version of PartialObjectMetadata; '' for the whole object */
export const messagesOfKind = (kind: Kind, partialVersion = ''): Form<ProtobufDocument> =>
  (partial.get(partialVersion) ?? whole).of(kind);

const frames = new Memo(
  (form: Form<ProtobufDocument>): NoticeForm => ({
    bytes: ({ type, entry }) => eventFrame(type, form.of(entry)),
  }),
);

/** The frames of a watch. */
export const framesOfKind = (kind: Kind, partialVersion?: string): NoticeForm =>
  frames.of(messagesOfKind(kind, partialVersion));
