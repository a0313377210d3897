/** Describes an HTTP answer that is not a success, in the words of Kubernetes' own client. */
import { isUtf8 } from 'node:buffer';
import { isJsonObject } from '../../api/text/object.ts';

/** Maximum length of a server's text that is quoted. */
const quotedCharsMax = 2_000;

const texts: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

/** Describes an answer; `value` is the body, when it is JSON. A Status is shown with its own message. */
export function answerProblem(
  { code, contentType, body }: { code: number; contentType: string; body: Buffer },
  value: unknown,
): string {
  if (isJsonObject(value) && value.kind === 'Status' && typeof value.message === 'string' && value.message)
    return value.message.slice(0, quotedCharsMax);
  const isText = contentType.startsWith('text/') && isUtf8(body);
  const said = (isText && body.toString('utf8').trim().slice(0, quotedCharsMax)) || 'unknown';
  if (code === 403 || code === 406 || code === 415) return said;
  const text = texts[code];
  if (text) return text;
  return code >= 500
    ? `an error on the server (${JSON.stringify(said)}) has prevented the request from succeeding`
    : `the server responded with the status code ${code} but did not return more information`;
}
