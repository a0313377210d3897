/** The values of a config map or a secret: shown, copied and changed key by key; secrets after a click. */
import { useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { pathOf } from '../../core/kinds.ts';
import { moment } from '../../core/moment.ts';
import { may } from '../../core/rights.ts';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../tab.ts';
import { bytesOf, decoded, encoded } from './base64-text.ts';

interface Value {
  readonly name: string;
  /** Undefined: bytes that are no text. */
  readonly text: string | undefined;
  readonly bytes: number;
}

export function DataValues({ kind, object }: TabProps) {
  const isSecret = kind.id === 'secrets';
  const { namespace, name, resourceVersion } = object.metadata;
  const values: Value[] = [
    ...Object.entries<string>(object.data ?? {}).map(([key, value]) =>
      isSecret ? fromBase64(key, value) : { name: key, text: value, bytes: new Blob([value]).size },
    ),
    ...Object.entries<string>(object.binaryData ?? {}).map(([key, value]) => fromBase64(key, value)),
  ];
  const mayEdit = moment.value === undefined && !object.immutable && may('patch', kind, { namespace, name });
  /** Undefined takes the key away. */
  const save = async (key: string, text: string | undefined): Promise<void> => {
    const value = text === undefined ? null : isSecret ? encoded(text) : text;
    // What another user wrote meanwhile is not overwritten.
    const body = { metadata: { resourceVersion }, data: { [key]: value } };
    await ask(pathOf(kind, namespace, name), {
      method: 'PATCH',
      contentType: 'application/merge-patch+json',
      body,
    });
  };
  return (
    <section class="panel">
      <h2>Values</h2>
      {values.length === 0 && <p class="quiet">There are none.</p>}
      {object.immutable && <p class="quiet">They cannot be changed: the object is immutable.</p>}
      <ul class="values">
        {values.map((value) => (
          <ValueItem key={value.name} value={value} isHidden={isSecret} save={mayEdit ? save : undefined} />
        ))}
      </ul>
      {mayEdit && <NewValue taken={new Set(values.map((each) => each.name))} save={save} />}
    </section>
  );
}

const fromBase64 = (name: string, value: string): Value => ({
  name,
  text: decoded(value),
  bytes: bytesOf(value),
});

type Save = (key: string, text: string | undefined) => Promise<void>;

interface ValueItemProps {
  readonly value: Value;
  readonly isHidden: boolean;
  readonly save: Save | undefined;
}

function ValueItem({ value: { name, text, bytes }, isHidden, save }: ValueItemProps) {
  const [isShown, setShown] = useState(!isHidden);
  const [draft, setDraft] = useState<string>();
  const [error, setError] = useState<Error>();
  const write = (next: string | undefined): void => {
    setError(undefined);
    save!(name, next).then(() => setDraft(undefined), setError);
  };
  return (
    <li>
      <div class="valuebar">
        <strong>{name}</strong> <span class="quiet">{bytes} bytes</span>
        <span class="gap" />
        {isHidden && text !== undefined && (
          <button
            type="button"
            aria-label={`${isShown ? 'Hide' : 'Show'} ${name}`}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? 'Hide' : 'Show'}
          </button>
        )}
        {text !== undefined && (
          <button
            type="button"
            aria-label={`Copy ${name}`}
            onClick={() => void navigator.clipboard?.writeText(text)}
          >
            Copy
          </button>
        )}
        {save && text !== undefined && draft === undefined && (
          <button type="button" aria-label={`Edit ${name}`} onClick={() => setDraft(text)}>
            Edit
          </button>
        )}
        {save && draft !== undefined && (
          <button type="button" class="danger" aria-label={`Remove ${name}`} onClick={() => write(undefined)}>
            Remove
          </button>
        )}
      </div>
      {draft !== undefined ? (
        <Draft
          name={name}
          text={draft}
          onInput={setDraft}
          onSave={() => write(draft)}
          onCancel={() => setDraft(undefined)}
        />
      ) : (
        <pre class="valuetext">{text === undefined ? 'no text' : isShown ? text : '••••••••'}</pre>
      )}
      {error && <Refusal error={error} what="The value was not saved." />}
    </li>
  );
}

interface DraftProps {
  readonly name: string;
  readonly text: string;
  readonly onInput: (text: string) => void;
  readonly onSave: () => void;
  readonly onCancel: () => void;
}

const Draft = ({ name, text, onInput, onSave, onCancel }: DraftProps) => (
  <>
    <textarea
      aria-label={`Value of ${name}`}
      rows={Math.min(20, text.split('\n').length + 1)}
      value={text}
      spellcheck={false}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
    />
    <div class="valuebar">
      <button type="button" class="main" onClick={onSave}>
        Apply
      </button>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
    </div>
  </>
);

function NewValue({ taken, save }: { readonly taken: ReadonlySet<string>; readonly save: Save }) {
  const [name, setName] = useState('');
  const [text, setText] = useState<string>();
  const [error, setError] = useState<Error>();
  const close = (): void => {
    setName('');
    setText(undefined);
    setError(undefined);
  };
  if (text === undefined)
    return (
      <button type="button" onClick={() => setText('')}>
        Add a key
      </button>
    );
  return (
    <div class="values">
      <input
        aria-label="Name of the key"
        placeholder="key"
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <Draft
        name={name || 'the key'}
        text={text}
        onInput={setText}
        onCancel={close}
        onSave={() => {
          if (taken.has(name)) setError(new Error(`There is a key ${name} already.`));
          else save(name, text).then(close, setError);
        }}
      />
      {error && <Refusal error={error} what="The key was not added." />}
    </div>
  );
}
