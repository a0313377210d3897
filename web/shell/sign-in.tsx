/** Asks for a token, on the secure door, when the server does not know the user. */
import { useState } from 'preact/hooks';
import { ApiError, ask } from '../core/api.ts';
import { signIn, signInReason, token } from '../core/credentials.ts';
import { discover } from '../core/kinds.ts';
import { forgetRights } from '../core/rights.ts';

export function SignIn({ reason }: { readonly reason: string }) {
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<string>();
  const attempt = async (): Promise<void> => {
    token.value = text.trim();
    try {
      await ask('/apis');
      forgetRights();
      signIn(text.trim());
      await discover();
    } catch (error) {
      token.value = undefined;
      // Authenticated, but not allowed to list groups: the dashboard shows what the user may see.
      if (error instanceof ApiError && error.code === 403) {
        forgetRights();
        signIn(text.trim());
        return discover();
      }
      signInReason.value = reason;
      setFailure(
        error instanceof ApiError && error.code === 401
          ? 'The server does not know this token.'
          : (error as Error).message,
      );
    }
  };
  return (
    <main class="signin">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void attempt();
        }}
      >
        <h1>Wherry</h1>
        <p>
          This server asks who you are. Paste a token, or choose a client certificate in your browser and load
          the page anew.
        </p>
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <button type="submit" class="main">
          Sign in
        </button>
        <p role="alert" class="quiet">
          {failure ?? reason}
        </p>
        <p class="quiet">
          A token for an account: <code>kubectl create token NAME</code>
        </p>
      </form>
    </main>
  );
}
