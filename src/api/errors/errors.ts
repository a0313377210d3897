/**
 * The catalogue of errors: one constructor per reason sets HTTP code, reason, details and message, as in Kubernetes.
 * Thrown anywhere below the server, which answers with the Status.
 */
import type { FieldError } from './field-error.ts';

interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { continue?: string };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** An error that is answered as a Status. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(code: number, reason: string | undefined, message: string, details?: StatusDetails) {
    super(message);
    this.name = 'StatusError';
    // Wire order: kind, apiVersion, metadata, status, message, reason, details, code.
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason ? { reason } : {}),
      ...(details ? { details } : {}),
      code,
    };
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): string | undefined {
    return this.status.reason;
  }
}

/** The parts of a kind that messages need. */
export interface Named {
  readonly kind: string;
  readonly resource: string;
  readonly group: string;
}

/** `pods`, `jobs.extensions`. */
export const resourceText = (of: Named): string => (of.group ? `${of.resource}.${of.group}` : of.resource);
/** `Pod`, `Job.extensions`. */
const kindText = (of: Named): string => (of.group ? `${of.kind}.${of.group}` : of.kind);

const resourceDetails = (of: Named, name: string): StatusDetails => ({
  ...(name ? { name } : {}),
  ...(of.group ? { group: of.group } : {}),
  kind: of.resource,
});

const kindDetails = (of: Named, name: string): StatusDetails => ({
  ...(name ? { name } : {}),
  ...(of.group ? { group: of.group } : {}),
  kind: of.kind,
});

export const notFound = (of: Named, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${resourceText(of)} "${name}" not found`, resourceDetails(of, name));

export const namespaceNotFound = (name: string): StatusError =>
  new StatusError(404, 'NotFound', `namespaces "${name}" not found`, { name, kind: 'namespaces' });

export const resourceNotFound = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (of: Named, name: string, deleting = false): StatusError =>
  new StatusError(
    409,
    'AlreadyExists',
    `${deleting ? 'object is being deleted: ' : ''}${resourceText(of)} "${name}" already exists`,
    resourceDetails(of, name),
  );

export const generateNameExhausted = (of: Named, name: string): StatusError =>
  new StatusError(
    409,
    'AlreadyExists',
    `${resourceText(of)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    { ...resourceDetails(of, name), retryAfterSeconds: 1 },
  );

export const conflict = (of: Named, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${resourceText(of)} "${name}": ${why}`,
    resourceDetails(of, name),
  );

export const modified = (of: Named, name: string): StatusError =>
  conflict(
    of,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

/** A failed delete precondition names the kind, all other conflicts the resource, as in Kubernetes. */
export const preconditionConflict = (of: Named, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${kindText(of)} "${name}": ${why}`,
    kindDetails(of, name),
  );

export const forbidden = (of: Named, name: string, why: string): StatusError =>
  new StatusError(
    403,
    'Forbidden',
    `${resourceText(of)}${name ? ` "${name}"` : ''} is forbidden: ${why}`,
    resourceDetails(of, name),
  );

/** The same for paths that are not about a resource. */
export const forbiddenRequest = (why: string): StatusError =>
  new StatusError(403, 'Forbidden', `forbidden: ${why}`, {});

/** No authorizer could say whether a request is allowed. Clients get the text alone, as from Kubernetes. */
export class AuthorizationFailure extends StatusError {
  constructor(uri: string, why: string) {
    super(500, undefined, `Internal Server Error: ${JSON.stringify(uri)}: ${why}`);
  }
}

export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized', 'Unauthorized');

export const namespaceTerminating = (of: Named, name: string, namespace: string): StatusError =>
  new StatusError(
    403,
    'Forbidden',
    `${resourceText(of)} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    {
      ...resourceDetails(of, name),
      causes: [
        {
          reason: 'NamespaceTerminating',
          message: `namespace ${namespace} is being terminated`,
          field: 'metadata.namespace',
        },
      ],
    },
  );

/** Several errors in one text, each once: `a`, `[a, b]`. */
export function errorsText(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
}

export const invalid = (
  of: { kind: string; group: string },
  name: string,
  errors: readonly FieldError[],
): StatusError => {
  const list = errorsText(errors);
  const kind = of.group ? `${of.kind}.${of.group}` : of.kind;
  return new StatusError(422, 'Invalid', `${kind} "${name}" is invalid: ${list}`, {
    ...(name ? { name } : {}),
    ...(of.group ? { group: of.group } : {}),
    ...(of.kind ? { kind: of.kind } : {}),
    causes: errors.map((error) => ({ reason: error.reason, message: error.message, field: error.field })),
  });
};

/** A PUT without a resourceVersion, which some kinds need. Kubernetes names the resource here, not the kind. */
export const withoutVersion = (of: Named, name: string): StatusError =>
  invalid({ kind: of.resource, group: of.group }, name, [
    {
      field: 'metadata.resourceVersion',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: 0: must be specified for an update',
    },
  ]);

/** Invalid options of a request: `DeleteOptions.meta.k8s.io "" is invalid: …`. */
export const invalidOptions = (kind: string, errors: readonly FieldError[]): StatusError =>
  invalid({ kind, group: 'meta.k8s.io' }, '', errors);

/** The result of a patch cannot be decoded. Kubernetes leaves kind and name empty here. */
export const invalidPatch = (patched: string, why: string): StatusError => {
  const message = `Invalid value: ${JSON.stringify(patched)}: ${why}`;
  return new StatusError(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
    causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }],
  });
};

export const unprocessable = (): StatusError =>
  new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const methodNotAllowed = (): StatusError =>
  new StatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );

/** A subresource of a custom kind does not have the verb. */
export const verbNotSupported = (of: Named, verb: string): StatusError =>
  new StatusError(
    405,
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind "${resourceText(of)}"`,
    resourceDetails(of, ''),
  );

/** A format of a patch that custom kinds do not take. */
export const unknownPatchFormat = (supported: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  );

export const notAcceptable = (available: readonly string[]): StatusError =>
  new StatusError(
    406,
    'NotAcceptable',
    `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`,
    {},
  );

export const unsupportedParameters = (available: readonly string[]): StatusError =>
  new StatusError(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${available.join(', ')}`,
  );

export const wrongTransform = (message: string): StatusError =>
  new StatusError(406, 'NotAcceptable', message);

/** Without types for a current server, which does not list those that it takes. */
export const unsupportedMediaType = (supported: readonly string[] | undefined): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `415: Unsupported Media Type${supported ? `: accepted media types include: ${supported.join(', ')}` : ''}`,
    {},
  );

export const unknownFormat = (supported: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  );

export const tooLarge = (message: string): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${message}`);

export const watchExpired = (wanted: number, oldest: number): StatusError =>
  new StatusError(410, 'Expired', `too old resource version: ${wanted} (${oldest})`);

export const listExpired = (): StatusError =>
  new StatusError(410, 'Expired', 'The resourceVersion for the provided list is too old.');

export const continueExpired = (token: string): StatusError => {
  const error = new StatusError(
    410,
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  error.status.metadata.continue = token;
  return error;
};

export const versionTooLarge = (wanted: number, current: number): StatusError =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

export const requestTimeout = (): StatusError =>
  new StatusError(504, 'Timeout', 'Timeout: request did not complete within the allotted timeout', {});

export const unavailable = (message: string): StatusError =>
  new StatusError(503, 'ServiceUnavailable', message);

export const internal = (text: string): StatusError =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${text}`, { causes: [{ message: text }] });

/** A disruption budget refuses an eviction; `cause` says which, and why. Clients retry later. */
export const budgetViolation = (cause: string, retryAfterSeconds?: number): StatusError =>
  new StatusError(
    429,
    'TooManyRequests',
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      causes: [{ reason: 'DisruptionBudget', message: cause }],
      ...(retryAfterSeconds ? { retryAfterSeconds } : {}),
    },
  );

/** An error that Kubernetes answers with a plain 500: message without reason. */
export const plain = (text: string): StatusError => new StatusError(500, undefined, text);

/** The success Status of an operation that returns no object. */
export const success = (code: number, details?: StatusDetails): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  ...(details ? { details } : {}),
  code,
});
