/** The recipes of `docs/containers.md`, and what the Dockerfile says about the image that they use. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
const page = readFileSync(path.join(root, 'docs/containers.md'), 'utf8');

/** Blocks of code of a language, in their order. */
export const recipesIn = (language: string): string[] =>
  [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, kind]) => kind === language)
    .map(([, , text]) => text!);

/** The one recipe with these words. */
export function recipeWith(language: string, words: string): string {
  const [text, another] = recipesIn(language).filter((one) => one.includes(words));
  if (text === undefined || another !== undefined)
    throw new Error(`${language}: not one recipe has ${words}`);
  return text;
}

const dockerfile = readFileSync(path.join(root, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
const [, image = ''] = dockerfile.split(/^FROM .*(?<!AS package)$/m);
const instruction = (name: string): string =>
  new RegExp(`^${name} (.*)$`, 'm').exec(image)?.[1]?.trim() ?? '';

/** What a container of the image is like. */
export const container = {
  port: Number(instruction('EXPOSE')),
  entrypoint: JSON.parse(instruction('ENTRYPOINT')) as string[],
  command: JSON.parse(instruction('CMD')) as string[],
  folder: instruction('WORKDIR'),
  user: Number(instruction('USER')),
  /** Its variables, without the one of the base. */
  environment: Object.fromEntries(
    [...instruction('ENV').matchAll(/(\w+)=(\S+)/g)]
      .filter(([, name]) => name !== 'PATH')
      .map(([, name, value]) => [name!, value!]),
  ),
  healthCheck: instruction('HEALTHCHECK'),
} as const;
