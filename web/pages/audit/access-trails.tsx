import { texts } from '../../texts.ts';
import { Panel } from '../../parts/panel.tsx';
import { LoginTable } from '../settings/login-table.tsx';
import { TokenTable } from '../settings/token-table.tsx';

/** Who is logged in. */
export const LoginTrail = () => (
  <Panel title={texts.access.logins} aside={texts.access.ownLogins} className="trail">
    <LoginTable />
  </Panel>
);

/** Tokens that were made, revoked ones among them. */
export const TokenTrail = () => (
  <Panel title={texts.access.tokens} aside={texts.access.ownTokens} className="trail">
    <TokenTable />
  </Panel>
);
