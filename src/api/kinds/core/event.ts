/** Event: something that happened to an object, kept for a limited time. Not a watch event. */

import { type FieldError, invalid, required } from '../../errors/field-error.ts';
import type { Event } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { elapsed } from '../../values/elapsed.ts';
import { isQualifiedName, pathSegmentName } from '../../values/names.ts';

/** Bytes of texts in events of the newer form. */
const wordBytesMax = 128;
const messageBytesMax = 1024;

const newerWords = ['reportingInstance', 'action', 'reason'] as const;

const namespaceMismatch = (namespace: string): FieldError =>
  invalid('involvedObject.namespace', namespace, 'does not match event.namespace');

/** Events without an eventTime come from old clients, and have fewer rules. */
function olderErrors(event: Event): FieldError[] {
  const namespace = event.metadata.namespace ?? '';
  const involved = event.involvedObject?.namespace ?? '';
  // Events of cluster-scoped objects are in `default`.
  const matches = involved ? involved === namespace : namespace === '' || namespace === 'default';
  return matches ? [] : [namespaceMismatch(involved)];
}

function newerErrors(event: Event): FieldError[] {
  const errors: FieldError[] = [];
  const namespace = event.metadata.namespace ?? '';
  if (!event.involvedObject?.namespace && namespace !== 'default' && namespace !== 'kube-system')
    errors.push(namespaceMismatch(''));
  const component = event.reportingComponent ?? '';
  if (!component) errors.push(required('reportingComponent'));
  for (const problem of isQualifiedName(component))
    errors.push(invalid('reportingComponent', component, problem));
  for (const field of newerWords) {
    const text = event[field] ?? '';
    if (!text) errors.push(required(field));
    errors.push(...lengthErrors(text, field, wordBytesMax));
  }
  errors.push(...lengthErrors(event.message ?? '', 'message', messageBytesMax));
  return errors;
}

/** The message does not quote the text: it is too long. */
const lengthErrors = (text: string, field: string, bytesMax: number): FieldError[] =>
  Buffer.byteLength(text) > bytesMax ? [invalid(field, '', `can have at most ${bytesMax} characters`)] : [];

function sourceText({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source?.component || reportingComponent || '';
  const instance = source?.host || reportingInstance;
  return instance ? `${component}, ${instance}` : component;
}

function objectText({ involvedObject }: Event): string {
  const kind = (involvedObject?.kind ?? '').toLowerCase();
  return involvedObject?.name ? `${kind}/${involvedObject.name}` : kind;
}

export const event = defineKind<Event>({
  kind: 'Event',
  resource: 'events',
  singular: 'event',
  shortNames: ['ev'],
  namespaced: true,
  untracked: true,
  nameRule: pathSegmentName,
  createOnUpdate: true,
  deletion: { uncollected: true },

  validate: (event) => (event.eventTime ? newerErrors(event) : olderErrors(event)),

  selectableFields: {
    'involvedObject.kind': (event) => event.involvedObject?.kind ?? '',
    'involvedObject.namespace': (event) => event.involvedObject?.namespace ?? '',
    'involvedObject.name': (event) => event.involvedObject?.name ?? '',
    'involvedObject.uid': (event) => event.involvedObject?.uid ?? '',
    'involvedObject.apiVersion': (event) => event.involvedObject?.apiVersion ?? '',
    'involvedObject.resourceVersion': (event) => event.involvedObject?.resourceVersion ?? '',
    'involvedObject.fieldPath': (event) => event.involvedObject?.fieldPath ?? '',
    reason: (event) => event.reason ?? '',
    reportingComponent: (event) => event.reportingComponent ?? '',
    source: (event) => event.source?.component || (event.reportingComponent ?? ''),
    type: (event) => event.type ?? '',
  },

  columns: [
    { name: 'Last Seen', description: 'How long ago the event was last seen.' },
    { name: 'Type', description: 'Normal or Warning.' },
    { name: 'Reason', description: 'Why it happened, in one word.' },
    { name: 'Object', description: 'What it happened to.' },
    { name: 'Subobject', description: 'The part of the object it happened to.', wide: true },
    { name: 'Source', description: 'Who reports it.', wide: true },
    { name: 'Message', description: 'What happened.' },
    { name: 'First Seen', description: 'How long ago the event was first seen.', wide: true },
    { name: 'Count', description: 'How often it has happened.', wide: true },
    { name: 'Name', format: 'name', description: 'Name of the event.', wide: true },
  ],
  cells(event) {
    const firstSeen = elapsed(event.firstTimestamp || event.eventTime);
    const lastTime = event.series?.lastObservedTime || event.lastTimestamp;
    return [
      lastTime ? elapsed(lastTime) : firstSeen,
      event.type ?? '',
      event.reason ?? '',
      objectText(event),
      event.involvedObject?.fieldPath ?? '',
      sourceText(event),
      (event.message ?? '').trim(),
      firstSeen,
      event.series?.count || event.count || 1,
      event.metadata.name,
    ];
  },
});
