/** Asks before an action: what it would do, with which values, and the command that does the same. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Command } from '../../ui/command-line.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { Field, Plan, Values } from './actions.ts';

interface ActionDialogProps {
  readonly title: string;
  readonly load: () => Promise<Plan>;
  /** `done`: it was carried out. */
  readonly onClose: (done: boolean) => void;
}

/** Objects that are named one by one. */
const namedMax = 12;
const typedField = 'confirmation';

export function ActionDialog({ title, load, onClose }: ActionDialogProps) {
  const [plan, setPlan] = useState<Plan>();
  const [values, setValues] = useState<Values>({});
  const [progress, setProgress] = useState<string>();
  const [error, setError] = useState<Error>();
  const [stop] = useState(() => new AbortController());
  useEffect(() => {
    load().then((loaded) => {
      setPlan(loaded);
      setValues(Object.fromEntries(loaded.fields.map(({ name, initial }) => [name, initial])));
    }, setError);
    return () => stop.abort();
  }, []);
  const form = useRef<HTMLFormElement>(null);
  // The dialog had nothing to type into before the plan was there.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input, select, button[type=submit]')?.focus();
  }, [plan]);
  const run = async (): Promise<void> => {
    setError(undefined);
    setProgress('Under way…');
    try {
      await plan!.run(values, setProgress, stop.signal);
      onClose(true);
    } catch (failure) {
      setError(failure as Error);
      setProgress(undefined);
    }
  };
  const cancel = (): void => onClose(false);
  const isConfirmed = plan?.confirmation === undefined || values[typedField] === plan.confirmation;
  return (
    <Dialog title={title} onClose={cancel}>
      {!plan && !error && <p class="quiet">Looking…</p>}
      {plan && (
        <form
          ref={form}
          onSubmit={(event) => {
            event.preventDefault();
            if (isConfirmed) void run();
          }}
        >
          {plan.objects && <ObjectNames objects={plan.objects} />}
          {plan.fields.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              value={values[field.name] ?? ''}
              onChange={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
          <ul class="steps">
            {plan.steps(values).map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ul>
          {plan.confirmation && (
            <Confirmation
              words={plan.confirmation}
              value={values[typedField] ?? ''}
              onChange={(value) => setValues({ ...values, [typedField]: value })}
            />
          )}
          <Command lines={plan.commands(values)} />
          {progress && <p role="status">{progress}</p>}
          {error && <Refusal error={error} />}
          <Buttons
            does={/^Roll back|^\S+/.exec(title)![0]}
            isDanger={plan.isDanger}
            isDisabled={progress !== undefined || !isConfirmed}
            cancel={cancel}
          />
        </form>
      )}
      {!plan && error && <Refusal error={error} />}
    </Dialog>
  );
}

interface ButtonsProps {
  readonly does: string;
  readonly isDanger: boolean | undefined;
  readonly isDisabled: boolean;
  readonly cancel: () => void;
}

const Buttons = ({ does, isDanger, isDisabled, cancel }: ButtonsProps) => (
  <footer>
    <button type="button" onClick={cancel}>
      Cancel
    </button>
    <button type="submit" class={isDanger ? 'danger' : 'main'} disabled={isDisabled}>
      {does}
    </button>
  </footer>
);

interface ConfirmationProps {
  readonly words: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const Confirmation = ({ words, ...rest }: ConfirmationProps) => (
  <FieldInput
    field={{ name: typedField, label: `Type “${words}” to go on`, type: 'text', initial: '' }}
    {...rest}
  />
);

const ObjectNames = ({ objects }: { readonly objects: NonNullable<Plan['objects']> }) => (
  <ul class="doomed">
    {objects.slice(0, namedMax).map(({ uid, namespace, name }) => (
      <li key={uid}>
        {namespace && <span class="quiet">{namespace}/</span>}
        {name}
      </li>
    ))}
    {objects.length > namedMax && <li class="quiet">and {objects.length - namedMax} more</li>}
  </ul>
);

interface FieldInputProps {
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function FieldInput({ field, value, onChange }: FieldInputProps) {
  const { name, label, type, choices = [], optional = false } = field;
  const id = `field-${name}`;
  const shared = { id, value, required: !optional, spellcheck: false };
  const onInput = ({
    currentTarget,
  }: {
    readonly currentTarget: HTMLInputElement | HTMLSelectElement;
  }): void => onChange(currentTarget.value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === 'choice' && (
        <select {...shared} onChange={onInput}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
      {type === 'number' && <input type="number" min={0} {...shared} onInput={onInput} />}
      {type === 'text' && <input type="text" {...shared} onInput={onInput} />}
    </div>
  );
}
