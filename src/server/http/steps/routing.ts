/** Routing: which handler answers. Error exits: 404, 405, and 400 for an upgrade where there is nothing to upgrade to. */
import type { RequestContext } from '../context.ts';
import type { Services } from './step.ts';

export function route(context: RequestContext, { router }: Services): void {
  context.handler = router.find(context);
}
