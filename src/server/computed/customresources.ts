/**
 * Definitions of custom resources: there are none. kubectl lists them when it meets a kind that it does not find, and says
 * that there is no such kind only if it gets an answer; so the list is answered, and nothing else of its group.
 */
import { resourceNotFound } from '../../api/errors.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/requestinfo.ts';

export const definitionsVersion = 'apiextensions.k8s.io/v1';

export function answerDefinitions(context: RequestContext, info: ResourceInfo): Promise<void> {
  const isList = info.resource === 'customresourcedefinitions' && info.name === undefined;
  if (!isList || context.info.method !== 'GET' || context.info.lasting) throw resourceNotFound();
  const list = {
    kind: 'CustomResourceDefinitionList',
    apiVersion: definitionsVersion,
    metadata: {},
    items: [],
  };
  return answerValue(context, 200, list, { ...context.negotiate(), transform: undefined });
}
