import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { isAtLeast, ROLES, TOKEN_MAX_MS, type Role } from '../../../src/domain/access.ts';
import { makeToken, about, type NewToken } from '../../api/resources.ts';
import type { Caller } from '../../api/types.ts';
import { commandLine, tokenCommand } from '../../acts/command.ts';
import { AsCommand, CopyButton } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';

const DAY_MS = 86_400_000;
const DAYS_MAX = TOKEN_MAX_MS / DAY_MS;

export interface NewTokenProps {
  readonly caller: Caller;
  readonly close: () => void;
}

/** The dialog that makes a token. A token has at most the rights of its maker. */
export const NewTokenDialog = ({ caller, close }: NewTokenProps) => (
  <Dialog title={texts.access.make} close={close}>
    {(leave) => <TokenForm caller={caller} leave={leave} />}
  </Dialog>
);

function TokenForm({ caller, leave }: { readonly caller: Caller; readonly leave: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [places, setPlaces] = useState<readonly string[]>([]);
  const [days, setDays] = useState('30');
  const endsWithLogin = caller.via === 'cookie';
  const queries = useQueryClient();
  const configured = useQuery(about).data?.providers ?? [];
  const offered = caller.providers ?? configured;
  const wanted: NewToken = {
    ...{ name: name.trim(), role },
    providers: places.length > 0 ? [...places] : caller.providers && [...caller.providers],
    forMs: endsWithLogin ? DAY_MS : Math.round(Number(days) * DAY_MS),
  };
  const making = useMutation({
    mutationFn: () => makeToken(wanted),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
  });
  if (making.isSuccess) return <Made token={making.data} leave={leave} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    making.mutate();
  };
  const toggle = (place: string) =>
    setPlaces(
      places.includes(place) ? places.filter((each) => each !== place) : [...places, place],
    );
  return (
    <form onSubmit={submit}>
      <label>
        {texts.access.name}
        <input
          name="name"
          required
          maxLength={64}
          value={name}
          onChange={({ target }) => setName(target.value)}
          autoComplete="off"
          spellCheck={false}
          autoFocus
        />
      </label>
      <label>
        {texts.access.role}
        <select name="role" value={role} onChange={({ target }) => setRole(target.value as Role)}>
          {ROLES.filter((each) => isAtLeast(caller.role, each)).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <fieldset>
        <legend>{texts.access.providers}</legend>
        {offered.map((place) => (
          <label key={place} className="check">
            <input
              type="checkbox"
              checked={places.includes(place)}
              onChange={() => toggle(place)}
            />
            {place}
          </label>
        ))}
      </fieldset>
      {endsWithLogin ? (
        <p className="quiet">{texts.access.endsWithLogin}</p>
      ) : (
        <label>
          {texts.access.days}
          <input
            name="days"
            type="number"
            required
            min="1"
            max={DAYS_MAX}
            value={days}
            onChange={({ target }) => setDays(target.value)}
          />
        </label>
      )}
      <AsCommand text={commandLine(tokenCommand(wanted))} disabled={wanted.name === ''} />
      {making.error !== null && (
        <Notice tone="bad" title={texts.failed}>
          <p role="alert">{making.error.message}</p>
        </Notice>
      )}
      <footer>
        <button type="button" onClick={leave}>
          {texts.acts.cancel}
        </button>
        <button type="submit" className="act" disabled={making.isPending}>
          {texts.access.make}
        </button>
      </footer>
    </form>
  );
}

/** Shows the new token, which cannot be shown again. */
function Made({ token, leave }: { readonly token: string; readonly leave: () => void }) {
  return (
    <>
      <p role="status">{texts.access.made}</p>
      <label>
        {texts.access.token}
        <input
          className="mono"
          name="token"
          readOnly
          value={token}
          onFocus={({ target }) => target.select()}
        />
      </label>
      <footer>
        <CopyButton text={token} />
        <button type="button" onClick={leave} autoFocus>
          {texts.acts.close}
        </button>
      </footer>
    </>
  );
}
