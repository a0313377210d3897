/** Routing: finds the handler. Error exits: 404, 405, and 400 for an upgrade of a path without one. */
import type { RequestContext } from '../http/context.ts';
import type { Services } from './step.ts';

export function route(context: RequestContext, { router }: Services): void {
  context.handler = router.find(context);
}
