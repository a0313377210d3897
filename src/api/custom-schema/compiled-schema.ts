/** A schema as functions on objects. Everything is made when it is first used. */
import type { FieldError } from '../errors/field-error.ts';
import type {
  CompiledSchema,
  ObjectOrigin,
  Schema,
  ValidateOptions,
  Validation,
  ValidationWork,
} from '../model/json-schema.ts';
import { isJsonObject, type JsonObject, sameJson } from '../text/object.ts';
import { applyDefaults } from './defaulting.ts';
import { embeddedErrors } from './embedded-resources.ts';
import { listTypeErrors } from './list-types.ts';
import { pruneObject } from './prune.ts';
import { blocksRules, compileRules, type SchemaRules, uncheckedRules } from './rules.ts';
import { SchemaNode } from './schema-node.ts';
import { compileValidator, type Validator } from './validator.ts';

export const compileSchema = (schema: Schema): CompiledSchema => new LazySchema(schema);

class LazySchema implements CompiledSchema {
  #root: SchemaNode | undefined;
  #validator: Validator | undefined;
  #statusValidator: Validator | undefined;
  /** Null: the schema has no rules. Undefined: they were not compiled yet. */
  #rules: SchemaRules | null | undefined;

  constructor(readonly schema: Schema) {}

  get root(): SchemaNode {
    this.#root ??= new SchemaNode(this.schema, true);
    return this.#root;
  }

  prune(object: JsonObject, origin: ObjectOrigin = 'sent'): string[] {
    return pruneObject(object, this.root, origin);
  }

  applyDefaults(object: JsonObject): void {
    applyDefaults(object, this.root);
  }

  validate(object: JsonObject, options: ValidateOptions = {}): Validation {
    const work = this.begin(object, options);
    for (;;) {
      const validation = work.advance();
      if (validation) return validation;
    }
  }

  begin(object: JsonObject, { old, only, ratchets = true }: ValidateOptions = {}): ValidationWork {
    const before = ratchets ? old : undefined;
    const errors =
      only === 'status' ? this.#statusErrors(object, before) : this.#keywordErrors(object, before);
    errors.push(...embeddedErrors(object, this.root));
    // Duplicates that were there before may stay.
    const duplicates = listTypeErrors(object, this.root);
    if (duplicates.length && (!old || listTypeErrors(old, this.root).length === 0))
      errors.push(...duplicates);
    const rules = this.#ruleSet();
    if (rules === null) return finished({ errors, warnings: [] });
    if (blocksRules(errors) || isNameless(object))
      return finished({ errors: [...errors, uncheckedRules], warnings: [] });
    const work = rules.begin(object, old, ratchets);
    return {
      get spent() {
        return work.spent;
      },
      advance() {
        const outcome = work.advance();
        return outcome && { errors: [...errors, ...outcome.errors], warnings: outcome.warnings };
      },
    };
  }

  #keywordErrors(object: JsonObject, old: JsonObject | undefined): FieldError[] {
    this.#validator ??= compileValidator(this.schema);
    const errors = this.#validator.validate(object, old && withoutType(old));
    return errors.length && old && sameJson(object, old)
      ? errors.filter(({ field }) => field === 'apiVersion' || field === 'kind')
      : errors;
  }

  /** The errors that the status has, whose texts name fields from the status on; one that is not there has none. */
  #statusErrors(object: JsonObject, old: JsonObject | undefined): FieldError[] {
    const { status } = this.schema.properties ?? {};
    if (!status || object.status === undefined) return [];
    this.#statusValidator ??= compileValidator(status);
    const before = old && Object.hasOwn(old, 'status') ? old.status : undefined;
    return this.#statusValidator.validate(object.status, before, 'status');
  }

  get hasRules(): boolean {
    return this.#ruleSet() !== null;
  }

  #ruleSet(): SchemaRules | null {
    if (this.#rules === undefined) this.#rules = compileRules(this.schema, true) ?? null;
    return this.#rules;
  }
}

const finished = (validation: Validation): ValidationWork => ({ spent: 0, advance: () => validation });

/** Whether a name is missing: that is an error that rules are not run with. */
const isNameless = ({ metadata }: JsonObject): boolean => isJsonObject(metadata) && !metadata.name;

/** apiVersion and kind are checked also when they have not changed. */
function withoutType(object: JsonObject): JsonObject {
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest;
}
