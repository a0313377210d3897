/** A refusal of the server, in its own words and with what a person can do about it. */
import { ApiError } from '../core/api.ts';

const advice: Readonly<Record<number, string>> = {
  403: 'You may not see or do this. An administrator can allow it by a role and a binding.',
  404: 'It does not exist, or not any more.',
  409: 'It was changed by another writer in the meantime.',
  410: 'History does not reach back that far any more.',
};

export function Refusal({ error, what }: { readonly error: Error; readonly what?: string }) {
  const code = error instanceof ApiError ? error.code : undefined;
  return (
    <div class="refusal" role="alert">
      <strong>{what ?? (code === undefined ? 'This cannot be done.' : 'The server refused this.')}</strong>
      <p>{error.message}</p>
      {error instanceof ApiError && error.causes.length > 1 && (
        <ul>
          {error.causes.map(({ field, message }) => (
            <li key={`${field}${message}`}>
              {field && <code>{field}</code>} {message}
            </li>
          ))}
        </ul>
      )}
      {code !== undefined && advice[code] && <p class="quiet">{advice[code]}</p>}
    </div>
  );
}
