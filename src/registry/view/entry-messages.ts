/**
 * Entries in protobuf: whole, or reduced to their metadata. Encoded once per version of an object (`forms.ts`), for reads,
 * lists and watches.
 */
import type { Kind } from '../../api/kind/kind.ts';
import { modelOf } from '../../api/model/model.ts';
import { encodeDocument, eventFrame, type ProtobufDocument } from '../../api/protobuf/protobuf-envelope.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import { Form } from './forms.ts';
import type { NoticeForm } from './watch-event.ts';

const bytesOf = ({ bytes }: ProtobufDocument): number => bytes.length;

const whole = new Memo(
  (kind: Kind) =>
    new Form(
      (entry) => encodeDocument(kind, kind.model, entry.encodable(kind) as unknown as JsonObject),
      bytesOf,
    ),
);

const metadataOnly = (apiVersion: string): Memo<Kind, Form<ProtobufDocument>> =>
  new Memo((kind: Kind) => {
    const type = { kind: 'PartialObjectMetadata', apiVersion };
    const model = modelOf('PartialObjectMetadata');
    return new Form((entry) => {
      const { metadata } = entry.encodable(kind);
      return encodeDocument(type, model, { metadata });
    }, bytesOf);
  });

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
