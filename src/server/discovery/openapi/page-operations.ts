/** Operations on pages about the API itself, which the documents of a minor of Kubernetes describe, too. */
import { modelOf } from '../../../api/model/model.ts';
import { capital, groupWord } from '../model-names.ts';
import type { Operation } from './operations.ts';

type Page = Pick<Operation, 'id' | 'tag'> & Partial<Operation>;

const json = ['application/json'];

/** The pages that do not belong to a group, by name. */
const pages: Readonly<Record<string, () => Page>> = {
  api: () => ({ id: 'getCoreAPIVersions', tag: 'core', answer: modelOf('APIVersions') }),
  apis: () => ({ id: 'getAPIVersions', tag: 'apis', answer: modelOf('APIGroupList') }),
  version: () => ({ id: 'getCodeVersion', tag: 'version', isVersion: true, answerTypes: json }),
  '.well-known/openid-configuration': () => ({
    id: 'getServiceAccountIssuerOpenIDConfiguration',
    tag: 'WellKnown',
    answerTypes: json,
  }),
  'openid/v1/jwks': () => ({
    id: 'getServiceAccountIssuerOpenIDKeyset',
    tag: 'openid',
    answerTypes: ['application/jwk-set+json'],
  }),
};

export const commonPages: readonly string[] = Object.keys(pages);

/** @param name one of these, or a group behind `apis/` */
export function pageOperation(name: string): Operation {
  return {
    path: `/${name}/`,
    method: 'get',
    description: `What the server says at /${name}.`,
    parameters: [],
    ...(pages[name]?.() ?? groupPage(groupWord(name.slice('apis/'.length)))),
  };
}

const groupPage = (word: string): Page => ({
  id: `get${capital(word)}APIGroup`,
  tag: word,
  answer: modelOf('APIGroup'),
});
