/**
 * The object to create, as text and as the value of a form. Each follows the other: the form shows the text, and a
 * change of the form rewrites the text. Text that was not changed by the form stays as typed.
 */
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Kind } from '../../core/kinds.ts';
import type { Json } from '../../core/objects.ts';
import type { KindSchema, Path } from '../../core/schema.ts';
import { yamlText } from '../../core/text/yaml-text.ts';
import { blank, filled, withValue, written } from './empty-value.ts';
import { type TemplateName, templateOf } from './templates.ts';
import { yamlValue } from './yaml-value.ts';

interface FormValue {
  readonly value: Json;
  /** The value of the text that the form began with. */
  readonly written: Json;
}

export interface CreationDraft {
  /** The value of the form. */
  readonly object: Json;
  readonly text: string;
  /** Counts texts that were not typed by the user. */
  readonly edition: number;
  /** Why the form cannot show the text. */
  readonly refusal: Error | undefined;
  /** Whether a change of the form would lose comments. */
  readonly hasComments: boolean;
  readonly type: (text: string) => void;
  readonly change: (path: Path, value: Json) => void;
}

/** `byForm`: fields that are to be filled in are left out of the text, since the form shows them. */
export function useCreationDraft(
  kind: Kind,
  namespace: string,
  schema: KindSchema | undefined,
  byForm: boolean,
  template: TemplateName,
): CreationDraft {
  const begun = useMemo(
    () => templateOf(kind, namespace, schema, template),
    [kind.id, namespace, schema, template],
  );
  const [form, setForm] = useState<FormValue>();
  const [typed, setTyped] = useState<string>();
  const read = useMemo(() => readText(kind, typed, begun), [typed, begun]);
  const object = read.value ?? form?.value ?? begun;
  const basis = read.value ?? form?.written;
  const text = useMemo(
    () => typed ?? yamlText(form || byForm ? filled(object, basis) : blank(object)),
    [typed, form, object, byForm],
  );
  const made = useRef({ text, edition: 0 });
  if (typed === undefined && made.current.text !== text)
    made.current = { text, edition: made.current.edition + 1 };
  return {
    object,
    text,
    edition: made.current.edition,
    refusal: read.error,
    hasComments: typed !== undefined && /(?:^|\s)#/.test(typed),
    type: setTyped,
    change: (path, value) => {
      setForm({ value: withValue(object, path, value), written: basis });
      setTyped(undefined);
    },
  };
}

interface ReadText {
  readonly value?: Json;
  readonly error?: Error;
}

function readText(kind: Kind, text: string | undefined, begun: Json): ReadText {
  if (text === undefined) return {};
  try {
    const value = yamlValue(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new Error('The text is no object.');
    if (value.kind !== kind.kind) throw new Error(`The text is of the kind ${value.kind ?? '(none)'}.`);
    return { value: written(value, begun) };
  } catch (error) {
    return { error: error as Error };
  }
}
