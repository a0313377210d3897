/** When an event happened last: events of old and new versions of the API say it in different fields. */
import type { ApiObject } from '../../core/objects.ts';

export const eventTime = (event: ApiObject): string =>
  event.lastTimestamp ??
  event.series?.lastObservedTime ??
  event.eventTime ??
  event.metadata.creationTimestamp ??
  '';
