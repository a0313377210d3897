/** The range of history: `GET /wherry/history` names the oldest and the newest version that can be listed and watched. */
import { methodNotAllowed } from '../../api/errors/errors.ts';
import type { Registry } from '../../registry/registry.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import { historyPath } from '../http/request-info.ts';

/** Answers requests for the path; returns false for other paths. */
export async function answerHistoryRange(context: RequestContext, { view }: Registry): Promise<boolean> {
  if (context.info.path !== historyPath) return false;
  if (context.info.method !== 'GET') throw methodNotAllowed();
  await view.caughtUp();
  const range = {
    kind: 'HistoryRange',
    apiVersion: 'wherry.dev/v1',
    // 0 would ask for the newest state.
    oldest: String(Math.max(1, view.compacted)),
    newest: String(view.revision),
  };
  await answerValue(context, 200, range, { ...context.negotiate('none'), transform: undefined });
  return true;
}
