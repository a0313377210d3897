/** A timeline: what happened to an object and by whom, as text for people. */
import { inspect } from 'node:util';
import type { Event } from '../api/generated/types.ts';
import type { Place } from '../registry/target.ts';
import type { ObjectVersion } from './object-history.ts';
import type { SeenRequest } from './request-log.ts';

/** Longer values are cut. */
const valueCharsMax = 120;

interface Line {
  readonly time: string;
  readonly text: string;
}

export function timelineText(
  { kind, namespace, name }: Place,
  versions: readonly ObjectVersion[],
  requests: readonly SeenRequest[],
  events: readonly Event[],
): string {
  const lines: Line[] = [
    ...requests.map(requestLine),
    ...versions.map(versionLine),
    ...events.map(eventLine),
  ].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const title = `${kind.kind} ${namespace ? `${namespace}/` : ''}${name}`;
  if (lines.length === 0) return `${title}: nothing has happened to it`;
  return [title, ...lines.map(({ time, text }) => `  ${time.slice(11, 23)}  ${text}`)].join('\n');
}

function versionLine({ time, type, manager, user, resourceVersion, verb, changes }: ObjectVersion): Line {
  const who = manager ? `${manager} (${user}, ${verb})` : verb;
  const fields = changes.map(
    ({ path, before, after }) => `\n                ${path}: ${shown(before)} → ${shown(after)}`,
  );
  return { time, text: `${type} by ${who}, version ${resourceVersion}${fields.join('')}` };
}

function requestLine({ time, method, url, userAgent, code, error }: SeenRequest): Line {
  const answer = code === undefined ? 'no answer yet' : `${code}${error ? ` ${error}` : ''}`;
  return { time, text: `${method} ${url} by ${userAgent || 'a client without a name'}: ${answer}` };
}

function eventLine({ metadata, eventTime, lastTimestamp, type, reason, message, source }: Event): Line {
  const time = new Date(eventTime ?? lastTimestamp ?? metadata.creationTimestamp ?? 0).toISOString();
  return {
    time,
    text: `event ${type} ${reason} of ${source?.component ?? 'an unnamed component'}: ${message}`,
  };
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 4 });
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}…` : text;
}
