/** What `wherry config` prints and writes. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeYaml } from '../../api/text/yaml-writing.ts';
import { StartError } from '../shared/start-error.ts';
import type { Form } from './config-file.ts';
import { type ConfigForms, configName } from './config-file.ts';
import { configSchema } from './config-schema.ts';

const schemaName = 'wherry.schema.json';
/** Fields that `config print` does not show. */
const secretField = /^(?:password|token|auth)$/;

/** Options with the places that they come from. */
export interface PrintedOptions {
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly parts: ReadonlyMap<string, unknown>;
  readonly origins: ReadonlyMap<string, string>;
}

/** The options in force as a file that could be used in their place, with defaults as comments. */
export function printedConfig({ flags, parts, origins }: PrintedOptions, forms: ConfigForms): string {
  const lines: string[] = [];
  for (const [key, form] of forms.flags) {
    const given = flags.get(key);
    if (given && !parts.has(key))
      lines.push(`${flagLine(form, given)}  # ${origins.get(key) ?? 'command line'}`);
    else if (!parts.has(key) && form.default !== undefined)
      lines.push(`# ${flagLine(form, [form.default])}  # default`);
  }
  for (const [key, part] of parts) {
    const text = writeYaml({ [key]: JSON.parse(JSON.stringify(part, hidden)) as unknown });
    lines.push(`# ${origins.get(key) ?? ''}\n${text.trimEnd()}`);
  }
  return `${lines.join('\n')}\n`;
}

const hidden = (name: string, value: unknown): unknown =>
  secretField.test(name) && typeof value === 'string' ? '(hidden)' : value;

function flagLine({ flag, value: { form } }: Form, given: readonly string[]): string {
  if (form === 'list' || form === 'repeated')
    return writeYaml({ [flag]: given })
      .trimEnd()
      .replace(/\n\s*/g, ' ')
      .replace(/: -.*$/s, `: ${JSON.stringify(given)}`);
  const [text = ''] = given;
  // Words and numbers that need no quotes mean what they say: values are read as they are written.
  return `${flag}: ${form === 'text' && !/^[\w./@+-][\w./@:+-]*$/.test(text) ? JSON.stringify(text) : text}`;
}

/** Says that a file can be used, and which. */
export const checkedConfig = (file: string | undefined, variables: readonly string[]): string =>
  `${file === undefined ? `There is no ${configName}: options are the defaults` : `${file} can be used`}${
    variables.length ? `\nVariables that no option has: ${variables.join(', ')}` : ''
  }\n`;

/** Writes a file to begin with, and its schema beside it. @param asked default: in the current folder */
export function beginConfig(asked: string | undefined, forms: ConfigForms): string {
  const file = asked ?? configName;
  const schema = path.join(path.dirname(file), schemaName);
  try {
    writeFileSync(file, firstText(forms), { flag: 'wx' });
    writeFileSync(schema, schemaText(forms));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(
      code === 'EEXIST'
        ? `${file} exists already, and is left as it is`
        : `${file} cannot be written: ${code ?? message}`,
      { cause: error },
    );
  }
  return `Wrote ${file}, and ${schema} for editors\n`;
}

export const schemaText = (forms: ConfigForms): string =>
  `${JSON.stringify(configSchema(forms), undefined, 1)}\n`;

/** The options that most people need, with their defaults, all of them as comments. */
function firstText({ flags, parts }: ConfigForms): string {
  const needed = [...flags.values()].filter((form) => form.needed?.includes('up'));
  const lines = needed.map(
    (form) => `${commented(form.text)}\n# ${flagLine(form, [form.default ?? exampleOf(form)])}`,
  );
  const others = [...parts.values()].flatMap(({ key, says }) =>
    says ? [`${commented(says)}\n# ${key}:`] : [],
  );
  return `# yaml-language-server: $schema=./${schemaName}
# Options of wherry up and wherry serve, by the names of their flags. Flags of the command line win over this file, and
# this file over variables such as WHERRY_PORT. Relative paths begin at the folder of this file.

${[...lines, ...others].join('\n\n')}
`;
}

const exampleOf = ({ value: { form, shown, completes } }: Form): string =>
  form === 'switch' || form === 'truth' ? 'true' : typeof completes === 'object' ? completes[0]! : shown;

const commented = (text: string): string => `# ${text.trim().replace(/\s+/g, ' ')}`;
