/**
 * Checks names of users and groups. They appear in logs, messages, headers and policies, where a control character
 * could make one name look like another, or like two. No authenticator accepts such a name, whatever the credential
 * says.
 */
import type { User } from '../../api/values/user.ts';

const control = /\p{Cc}/u;

/** Why the names of a user are refused; undefined when they are valid. */
export function nameProblem({ name, uid = '', groups, extra = {} }: User): string | undefined {
  if (control.test(name)) return 'the name of the user holds a control character';
  if (control.test(uid)) return 'the uid of the user holds a control character';
  if (groups.some((group) => control.test(group))) return 'the name of a group holds a control character';
  if (Object.keys(extra).some((key) => control.test(key)))
    return 'a key of the extra values holds a control character';
  return undefined;
}
