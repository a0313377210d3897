/** Event: something that happened to an object, kept for a while. Not a watch notification. */
import type { Event } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { pathSegmentName } from '../names.ts';

export const event = defineKind<Event>({
  kind: 'Event',
  resource: 'events',
  singular: 'event',
  shortNames: ['ev'],
  namespaced: true,
  nameRule: pathSegmentName,
  createOnUpdate: true,
  uncollected: true,

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
});
