import { useState } from 'react';
import { texts } from '../texts.ts';

export interface CopyProps {
  readonly text: string;
  /** What is copied, for screen readers. */
  readonly label?: string;
  readonly disabled?: boolean;
}

/** Copies a text. Browsers allow it on pages with TLS only; without TLS there is no button. */
export function CopyButton({ text, label, disabled }: CopyProps) {
  const [copied, setCopied] = useState<string | null>(null);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(text);
  };
  if (!isSecureContext) return null;
  return (
    <>
      <button type="button" aria-label={label} disabled={disabled} onClick={() => void copy()}>
        {copied === text ? texts.copied : texts.copy}
      </button>
      <span className="spoken" role="status">
        {copied === text && texts.copied}
      </span>
    </>
  );
}

/** The command that does the same as a dialog. One click on it selects all of it. */
export const AsCommand = ({ text, disabled = false }: CopyProps) => (
  <div className="command">
    <span className="quiet">{texts.asCommand}</span>
    <CopyButton text={text} label={texts.copyCommand} disabled={disabled} />
    <code tabIndex={0} aria-label={texts.asCommand} role="group">
      {text}
    </code>
  </div>
);
