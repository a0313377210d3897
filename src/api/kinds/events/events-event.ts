/**
 * Event in events.k8s.io/v1: a version of the stored v1 Event with some fields renamed. Its rules for new events are
 * stricter; on update only the series may change.
 */
import { type FieldError, invalid, required } from '../../errors/field-error.ts';
import type { Event, EventV1 } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import type { ApiObject } from '../../text/object.ts';
import { semanticEqual } from '../../text/object.ts';
import { event } from '../core/event.ts';

/** Smallest count of a series. */
const seriesCountMin = 2;

/** Fields of the stored form that new events may not set, because others replace them. */
const outdated = ['firstTimestamp', 'lastTimestamp', 'count'] as const;

/** Immutable fields. */
const immutable = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const;

function toStored({
  regarding,
  note,
  reportingController,
  deprecatedSource,
  deprecatedFirstTimestamp,
  deprecatedLastTimestamp,
  deprecatedCount,
  ...rest
}: EventV1): Event {
  return {
    ...rest,
    involvedObject: regarding,
    message: note,
    reportingComponent: reportingController,
    source: deprecatedSource,
    firstTimestamp: deprecatedFirstTimestamp,
    lastTimestamp: deprecatedLastTimestamp,
    count: deprecatedCount,
  };
}

function fromStored(object: ApiObject): EventV1 {
  const {
    involvedObject,
    message,
    reportingComponent,
    source,
    firstTimestamp,
    lastTimestamp,
    count,
    ...rest
  } = object as Event;
  return {
    ...rest,
    regarding: involvedObject,
    note: message,
    reportingController: reportingComponent,
    deprecatedSource: source,
    deprecatedFirstTimestamp: firstTimestamp,
    deprecatedLastTimestamp: lastTimestamp,
    deprecatedCount: count,
  };
}

/** Errors use the field names of the stored form, except for this one, as in Kubernetes. */
const controllerNamed = (error: FieldError): FieldError =>
  error.field === 'reportingComponent' ? { ...error, field: 'reportingController' } : error;

/** The values are not quoted. */
function newErrors(event: Event): FieldError[] {
  const errors = seriesErrors(event);
  const { type = '', source } = event;
  if (!event.eventTime) errors.push(required('eventTime'));
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalid('type', '', `has invalid value: ${type}`));
  for (const field of outdated) if (event[field]) errors.push(invalid(field, '', 'needs to be unset'));
  if (source?.component || source?.host) errors.push(invalid('source', '', 'needs to be unset'));
  return errors;
}

function seriesErrors({ series }: Event): FieldError[] {
  if (!series) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < seriesCountMin)
    errors.push(invalid('series.count', '', `should be at least ${seriesCountMin}`));
  if (!series.lastObservedTime) errors.push(required('series.lastObservedTime'));
  return errors;
}

function changeErrors(event: Event, old: Event): FieldError[] {
  const changed = immutable.filter((field) => !semanticEqual(event[field], old[field]));
  return [
    ...(semanticEqual(event.series, old.series) ? [] : seriesErrors(event)),
    ...changed.map((field) => controllerNamed(invalid(field, event[field] ?? null, 'field is immutable'))),
  ];
}

const storedErrors = (object: EventV1): FieldError[] =>
  (event.validate?.(toStored(object)) ?? []).map(controllerNamed);

export const eventsEvent = defineKind<EventV1>({
  kind: 'Event',
  resource: 'events',
  singular: 'event',
  shortNames: ['ev'],
  group: 'events.k8s.io',
  version: 'v1',
  table: 'events-v1',
  namespaced: true,
  stored: { kind: event, toStored, fromStored },
  createOnUpdate: true,
  deletion: { uncollected: true },

  validate: (object, old) => [...storedErrors(object), ...(old ? [] : newErrors(toStored(object)))],
  validateUpdate: (object, old) => changeErrors(toStored(object), toStored(old)),

  // Selectors are evaluated on the stored form.
  selectableFields: event.selectableFields as Record<string, () => string>,
  fieldAliases: {
    'regarding.kind': 'involvedObject.kind',
    'regarding.namespace': 'involvedObject.namespace',
    'regarding.name': 'involvedObject.name',
    'regarding.uid': 'involvedObject.uid',
    'regarding.apiVersion': 'involvedObject.apiVersion',
    'regarding.resourceVersion': 'involvedObject.resourceVersion',
    'regarding.fieldPath': 'involvedObject.fieldPath',
    reportingController: 'reportingComponent',
  },

  columns: event.columns,
  cells: (object) => event.cells?.(toStored(object)) ?? [],
});
