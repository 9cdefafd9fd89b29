import { useMutation, useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { isAtLeast, ROLES, type Role } from '../../../src/domain/access.ts';
import { decideDevice, whoami, type AskingCommand } from '../../api/resources.ts';
import { FactList } from '../../parts/facts.tsx';
import { Notice, Panel } from '../../parts/panel.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** A person confirms or refuses the login of a command, by the code that the command printed. */
export function DevicePage() {
  const [code, setCode] = useState('');
  const looking = useMutation({ mutationFn: () => decideDevice({ code, decision: 'look' }) });
  const via = useQuery(whoami).data?.via;
  const look = (event: FormEvent) => {
    event.preventDefault();
    looking.mutate();
  };
  return (
    <>
      <h1>{texts.device.title}</h1>
      <div className="stack device">
        {looking.data === undefined ? (
          <Panel title={texts.device.why}>
            {via !== undefined && via !== 'cookie' && (
              <p>
                {texts.device.logIn} <a href="/login?to=device">{texts.pages.login}</a>
              </p>
            )}
            <form onSubmit={look}>
              <label>
                {texts.device.code}{' '}
                <input
                  className="mono"
                  name="code"
                  required
                  maxLength={40}
                  autoComplete="off"
                  spellCheck={false}
                  autoFocus
                  value={code}
                  onChange={({ target }) => setCode(target.value)}
                />
              </label>{' '}
              <button type="submit" className="act" disabled={looking.isPending}>
                {texts.device.look}
              </button>
              {looking.error !== null && <p role="alert">{looking.error.message}</p>}
            </form>
          </Panel>
        ) : (
          <Decision code={code} asking={looking.data} />
        )}
      </div>
    </>
  );
}

interface DecisionProps {
  readonly code: string;
  readonly asking: AskingCommand;
}

/** Who asks, and what confirming means. */
function Decision({ code, asking: { host, address, createdAtMs } }: DecisionProps) {
  const own = useQuery(whoami).data?.role ?? 'viewer';
  const [chosen, setChosen] = useState<Role | null>(null);
  const role = chosen ?? own;
  const deciding = useMutation({
    mutationFn: async (decision: 'confirm' | 'refuse') => {
      await decideDevice({ code, decision, role });
      return decision;
    },
  });
  if (deciding.isSuccess) return <p role="status">{texts.device.done[deciding.data]}</p>;
  return (
    <Panel title={texts.device.asks}>
      <FactList
        facts={[
          [texts.device.host, <span className="mono">{host}</span>],
          [texts.device.address, <span className="mono">{address}</span>],
          [texts.device.since, <Ago atMs={createdAtMs} />],
        ]}
      />
      <Notice tone="warn" title={texts.device.warning}>
        <p>{texts.device.ends}</p>
      </Notice>
      <label>
        {texts.device.role}{' '}
        <select value={role} onChange={({ target }) => setChosen(target.value as Role)}>
          {ROLES.filter((each) => isAtLeast(own, each)).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {deciding.error !== null && <p role="alert">{deciding.error.message}</p>}
      <footer>
        <button
          type="button"
          disabled={deciding.isPending}
          onClick={() => deciding.mutate('refuse')}
        >
          {texts.device.refuse}
        </button>{' '}
        <button
          type="button"
          className="act"
          data-care="careful"
          disabled={deciding.isPending}
          onClick={() => deciding.mutate('confirm')}
        >
          {texts.device.confirm}
        </button>
      </footer>
    </Panel>
  );
}
