/** A field of a form, made from its schema: a plain value, an object with its fields, a list, or a map. */
import type { ComponentChildren } from 'preact';
import type { Json } from '../../core/objects.ts';
import { type KindSchema, type Path, type Schema, typeText, valuesOf } from '../../core/schema.ts';
import { emptyValue, fieldText } from './empty-value.ts';

interface FormState {
  readonly schemas: KindSchema;
  /** The server's messages by field. */
  readonly problems: ReadonlyMap<string, string>;
  readonly change: (path: Path, value: Json) => void;
}

interface FieldProps {
  readonly form: FormState;
  readonly name: string;
  readonly schema: Schema;
  readonly value: Json;
  readonly path: Path;
  readonly isRequired?: boolean;
  readonly onRemove?: (() => void) | undefined;
}

/** Fields that the server fills in. */
const serverFields = new Set([
  'status',
  'apiVersion',
  'kind',
  ...['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'],
  ...['managedFields', 'resourceVersion', 'selfLink', 'uid'],
]);

export function Field(props: FieldProps) {
  const { form, schema } = props;
  const { properties, items, additionalProperties, type } = form.schemas.resolve(schema);
  if (!isShaped(props.value, items !== undefined, type === 'object' || properties !== undefined))
    return <JsonField {...props} />;
  if (properties) return <ObjectField {...props} />;
  if (items) return <ListField {...props} items={items} />;
  if (typeof additionalProperties === 'object') return <MapField {...props} values={additionalProperties} />;
  if (type === 'object') return <JsonField {...props} />;
  return <PlainField {...props} />;
}

/** Whether a value has the type of its schema; text may contain anything. */
function isShaped(value: Json, isList: boolean, isObject: boolean): boolean {
  if (value === undefined || value === '') return true;
  if (Array.isArray(value)) return isList;
  return (typeof value === 'object') === isObject && !isList;
}

/** The first sentence of what the schema says; all of it is in the title. */
const summary = (text = ''): string => /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text;

function PlainField({ form, name, schema, value, path, isRequired, onRemove }: FieldProps) {
  const resolved = form.schemas.resolve(schema);
  const id = `field-${fieldText(path)}`;
  const values = valuesOf(resolved);
  const problem = form.problems.get(fieldText(path));
  const isNumber = resolved.type === 'integer' || resolved.type === 'number';
  const isEither = typeText(form.schemas, schema) === 'integer or string';
  const set = (text: string): void => {
    if (text === '') form.change(path, undefined);
    else if (resolved.type === 'boolean') form.change(path, text === 'true');
    else if (isNumber || (isEither && /^-?\d+$/.test(text))) form.change(path, Number(text));
    else form.change(path, text);
  };
  const common = {
    id,
    name: fieldText(path),
    'aria-invalid': problem !== undefined,
    'aria-describedby': `${id}-about`,
  };
  return (
    <div class="formfield">
      <label for={id}>
        {name}
        {isRequired && <span class="quiet"> required</span>}
      </label>
      <span class="forminput">
        {resolved.type === 'boolean' || resolved.enum ? (
          <select
            {...common}
            value={value === undefined ? '' : String(value)}
            onChange={({ currentTarget }) => set(currentTarget.value)}
          >
            <option value="" />
            {values.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...common}
            type={isNumber ? 'number' : 'text'}
            step={resolved.type === 'number' ? 'any' : undefined}
            list={values.length ? `${id}-values` : undefined}
            autocomplete="off"
            spellcheck={false}
            value={value ?? ''}
            onInput={({ currentTarget }) => set(currentTarget.value)}
          />
        )}
        {onRemove && <RemoveButton name={name} onRemove={onRemove} />}
      </span>
      {values.length > 0 && (
        <datalist id={`${id}-values`}>
          {values.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <p id={`${id}-about`} class={problem ? 'bad' : 'quiet'} title={resolved.description}>
        {problem ?? summary(resolved.description)}
      </p>
    </div>
  );
}

interface GroupProps extends FieldProps {
  readonly children: ComponentChildren;
}

function Group({ form, name, schema, path, onRemove, children }: GroupProps) {
  const problem = form.problems.get(fieldText(path));
  const { description } = form.schemas.resolve(schema);
  return (
    <fieldset class="formgroup">
      <legend>
        {name} {onRemove && <RemoveButton name={name} onRemove={onRemove} />}
      </legend>
      <p class={problem ? 'bad' : 'quiet'} title={description}>
        {problem ?? summary(description)}
      </p>
      {children}
    </fieldset>
  );
}

function ObjectField(props: FieldProps) {
  const { form, schema, value = {}, path } = props;
  const { properties = {}, required = [] } = form.schemas.resolve(schema);
  const isTop = path.length === 0;
  const isMetadata = path.length === 1 && path[0] === 'metadata';
  const names = Object.keys(properties).filter((name) => !((isTop || isMetadata) && serverFields.has(name)));
  const isShown = (name: string): boolean => name in value || required.includes(name);
  const rest = names.filter((name) => !isShown(name)).sort();
  const fields = (
    <>
      {names.filter(isShown).map((name) => {
        const isRequired = required.includes(name) || (isMetadata && name === 'name');
        const remove = (): void => {
          const { [name]: _, ...others } = value;
          form.change(path, others);
        };
        return (
          <Field
            key={name}
            form={form}
            name={name}
            schema={properties[name]!}
            value={value[name]}
            path={[...path, name]}
            isRequired={isRequired}
            onRemove={isRequired || isTop ? undefined : remove}
          />
        );
      })}
      {rest.length > 0 && (
        <select
          class="addfield"
          aria-label={`Add a field to ${fieldText(path) || 'the object'}`}
          value=""
          onChange={({ currentTarget }) => {
            const name = currentTarget.value;
            if (name) form.change([...path, name], emptyValue(form.schemas, properties[name]!, 1) ?? '');
          }}
        >
          <option value="">Add a field…</option>
          {rest.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </>
  );
  return isTop ? fields : <Group {...props}>{fields}</Group>;
}

function ListField(props: FieldProps & { readonly items: Schema }) {
  const { form, name, value, path, items } = props;
  const list: readonly Json[] = Array.isArray(value) ? value : [];
  return (
    <Group {...props}>
      {list.map((item, at) => (
        <Field
          key={at}
          form={form}
          name={`${name} ${at + 1}`}
          schema={items}
          value={item}
          path={[...path, at]}
          onRemove={() =>
            form.change(
              path,
              list.filter((_, other) => other !== at),
            )
          }
        />
      ))}
      <button
        type="button"
        onClick={() => form.change(path, [...list, emptyValue(form.schemas, items) ?? ''])}
      >
        Add to {name}
      </button>
    </Group>
  );
}

function MapField(props: FieldProps & { readonly values: Schema }) {
  const { form, name, value = {}, path, values } = props;
  return (
    <Group {...props}>
      {Object.entries(value).map(([key, each]) => (
        <Field
          key={key}
          form={form}
          name={key}
          schema={values}
          value={each}
          path={[...path, key]}
          onRemove={() =>
            form.change(path, Object.fromEntries(Object.entries(value).filter(([other]) => other !== key)))
          }
        />
      ))}
      <form
        class="forminput"
        onSubmit={(event) => {
          event.preventDefault();
          const input = event.currentTarget.elements.namedItem('key') as HTMLInputElement;
          if (input.value) form.change([...path, input.value], emptyValue(form.schemas, values) ?? '');
          input.value = '';
        }}
      >
        <input
          name="key"
          type="text"
          aria-label={`New key of ${name}`}
          placeholder="key"
          autocomplete="off"
        />
        <button type="submit">Add</button>
      </form>
    </Group>
  );
}

/** A value whose fields the schema does not name. */
function JsonField(props: FieldProps) {
  const { form, name, value, path } = props;
  return (
    <Group {...props}>
      <textarea
        aria-label={`${name} as JSON`}
        rows={3}
        spellcheck={false}
        value={value === undefined || value === '' ? '' : JSON.stringify(value, null, 2)}
        onChange={({ currentTarget }) => {
          try {
            form.change(path, currentTarget.value ? JSON.parse(currentTarget.value) : undefined);
            currentTarget.setCustomValidity('');
          } catch (error) {
            currentTarget.setCustomValidity((error as Error).message);
            currentTarget.reportValidity();
          }
        }}
      />
    </Group>
  );
}

const RemoveButton = ({ name, onRemove }: { readonly name: string; readonly onRemove: () => void }) => (
  <button type="button" class="plain" aria-label={`Remove ${name}`} onClick={onRemove}>
    ✕
  </button>
);
