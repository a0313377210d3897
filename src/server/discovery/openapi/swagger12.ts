/**
 * Swagger 1.2, with which kubectl 1.0 to 1.8 validates manifests before sending them.
 *
 * These versions read only the models, and know few types: a type that is neither a model, a list, text, number nor
 * boolean has to be `any`, or the manifest is refused. A quantity, a time or an int-or-string is declared as text,
 * and they accept a number as text.
 */
import type { Descriptions } from '../../../api/model/descriptions.ts';
import type { Field, Model } from '../../../api/model/model.ts';
import { prefixOf, splitApiVersion } from '../model-names.ts';
import type { Operation } from './operations.ts';
import { type Parameter, parameter } from './parameters.ts';
import { namesInPath, patchTypes } from './v2.ts';

interface Property {
  description?: string;
  type?: string;
  format?: string;
  $ref?: string;
  items?: { type?: string; $ref?: string };
}

interface Declared {
  id: string;
  description?: string;
  required?: readonly string[];
  properties: Record<string, Property>;
}

const swaggerVersion = '1.2';
const answerTypes: readonly string[] = ['application/json', 'application/yaml'];

/** Names of shared types as kubectl of that time expects them. */
const oldNames: Readonly<Record<string, string>> = {
  Status: 'unversioned.Status',
  WatchEvent: 'json.WatchEvent',
};
const patchName = 'unversioned.Patch';

/** `v1.Pod`, `v1beta1.Job`. kubectl finds the model of a manifest by its version and kind. */
function modelName({ file, name }: Model): string {
  if (file === 'core-v1' && Object.hasOwn(oldNames, name)) return oldNames[name]!;
  const version = file.includes('/') ? splitApiVersion(file).version : file.split('-')[1];
  return `${version}.${name}`;
}

/** The listing of all declarations, at `/swaggerapi`. */
export const resourceListing = (paths: readonly string[]) => ({
  swaggerVersion,
  apis: paths.map((path) => ({ path, description: `API at ${path}` })),
  apiVersion: '',
  info: { title: '', description: '' },
});

/** Declarations of the discovery paths, with one operation each. */
export const smallDeclaration = (path: string, basePath: string) => ({
  swaggerVersion,
  apiVersion: '',
  basePath,
  resourcePath: path,
  apis: [
    {
      path,
      description: `API at ${path}`,
      operations: [
        {
          type: 'void',
          method: 'GET',
          summary: `Answers with what there is at ${path}.`,
          nickname: `get${path.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
          parameters: [],
          produces: ['application/json'],
          consumes: ['application/json'],
        },
      ],
    },
  ],
  models: {},
});

/** A version of a group: its operations and all their models. */
export function declaration(
  apiVersion: string,
  operations: readonly Operation[],
  descriptions: Descriptions,
  basePath: string,
) {
  const models = new Models(descriptions);
  const apis = new Map<string, object[]>();
  for (const operation of operations.filter(({ isNew }) => !isNew)) {
    const list = apis.get(operation.path) ?? [];
    apis.set(operation.path, list);
    list.push(operationOf(operation, models));
  }
  const resourcePath = prefixOf(apiVersion);
  return {
    swaggerVersion,
    apiVersion,
    basePath,
    resourcePath,
    apis: [...apis].map(([path, list]) => ({
      path,
      description: `API at ${resourcePath}`,
      operations: list,
    })),
    models: models.declared,
  };
}

interface DeclaredParameter {
  type: string;
  paramType: string;
  name: string;
  description: string;
  required: boolean;
  allowMultiple: boolean;
}

const parameterOf = ({ name, in: paramType, type, description }: Parameter): DeclaredParameter => ({
  type,
  paramType,
  name,
  description,
  required: paramType === 'path',
  allowMultiple: false,
});

function operationOf(operation: Operation, models: Models): object {
  const { answer, body, description, id, method } = operation;
  const type = answer ? models.name(answer) : 'string';
  const parameters = [
    ...[...namesInPath(operation.path), 'pretty'].map((name) => parameterOf(parameter(name))),
    ...operation.parameters.map(parameterOf),
  ];
  if (body)
    parameters.push({
      type: body.model === 'Patch' ? models.patch() : models.name(body.model),
      paramType: 'body',
      name: 'body',
      description: 'What to send.',
      required: body.required,
      allowMultiple: false,
    });
  return {
    type,
    method: method.toUpperCase(),
    summary: description,
    nickname: id,
    parameters,
    responseMessages: [{ code: 200, message: 'OK', responseModel: type }],
    produces: answer ? answerTypes : ['*/*'],
    consumes: body?.model === 'Patch' ? patchTypes : ['*/*'],
  };
}

/** The models of one declaration. A referenced model is declared, with all models it refers to. */
class Models {
  readonly #names = new Map<Model, string>();
  readonly #declared = new Map<string, Declared>();

  constructor(private readonly descriptions: Descriptions) {}

  get declared(): Record<string, Declared> {
    return Object.fromEntries([...this.#declared].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  name(model: Model): string {
    const known = this.#names.get(model);
    if (known !== undefined) return known;
    // Two groups may have models of the same name; the second gets the name of its table as a suffix.
    const wished = modelName(model);
    let id = this.#declared.has(wished) ? `${wished}.${model.file}` : wished;
    for (let number = 2; this.#declared.has(id); number++) id = `${wished}.${model.file}_v${number}`;
    this.#names.set(model, id);
    const { required } = model.definition;
    const description = this.descriptions.model(model);
    const declared: Declared = {
      id,
      ...(description ? { description } : {}),
      ...(required?.length ? { required } : {}),
      properties: {},
    };
    this.#declared.set(id, declared);
    for (const field of model.order) declared.properties[field.name] = this.#property(model, field);
    return id;
  }

  patch(): string {
    if (!this.#declared.has(patchName)) {
      const description = this.descriptions.type('Patch');
      this.#declared.set(patchName, {
        id: patchName,
        ...(description ? { description } : {}),
        properties: {},
      });
    }
    return patchName;
  }

  #property(model: Model, field: Field): Property {
    const description = this.descriptions.field(model, field);
    return { ...this.#type(field), ...(description ? { description } : {}) };
  }

  #type(field: Field): Property {
    switch (field.type) {
      case 'model':
        return { $ref: this.name(field.model) };
      case 'array': {
        // Swagger 1.2 has no lists of lists or of maps; no built-in kind uses them.
        const { $ref, type } = this.#type(field.items!);
        return { type: 'array', items: $ref === undefined ? { type } : { $ref } };
      }
      case 'boolean':
        return { type: 'boolean' };
      case 'integer':
        return { type: 'integer', format: field.int32 ? 'int32' : 'int64' };
      case 'number':
        return { type: 'float64' };
      case 'map':
      case 'raw':
      case 'union':
        return { type: 'any' };
      default:
        return { type: 'string' };
    }
  }
}
