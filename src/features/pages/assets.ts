import { createHash } from 'node:crypto';
import { at, type Endpoint } from '../../api/endpoint.js';
import type { Config } from '../../config/config.js';
import { type Html, html, SITE_STYLE_PATH, STYLE } from '../../formats/html.js';
import { PAGE_SETTINGS } from './settings.js';

/**
 * The script of every page, without which all works as well: a form is submitted once and not left by mistake, one box chooses
 * all rows, and times are shown in the zone of the reader.
 */
const PAGE_SCRIPT = `addEventListener('submit',e=>{const b=e.submitter;if(e.target.method==='post')setTimeout(()=>{if(b)b.disabled=true})});
addEventListener('pageshow',()=>document.querySelectorAll('button:disabled').forEach(b=>{b.disabled=false}));
const f=document.querySelector('form.edit');let d=document.querySelector('form.edit [role=alert]')!==null;if(f){f.addEventListener('input',()=>{d=true});f.addEventListener('submit',()=>{d=false});addEventListener('beforeunload',e=>{if(d)e.preventDefault()})}
const all=document.querySelector('#all');if(all){all.hidden=false;const n=document.querySelector('#chosen');addEventListener('change',e=>{if(e.target===all)document.querySelectorAll('[name=_id]').forEach(c=>{c.checked=all.checked});n.textContent=document.querySelectorAll('[name=_id]:checked').length+' chosen'})}
for(const t of document.querySelectorAll('time')){const x=new Date(t.dateTime);if(t.dateTime.length>10&&!isNaN(x))t.textContent=x.toLocaleString(undefined,{dateStyle:'medium',timeStyle:'short'})}`;

/** The address of a file with the hash of its text. */
const pathOf = (text: string, ending: string): string =>
  `/_assets/${createHash('sha256').update(text).digest('hex').slice(0, 16)}.${ending}`;

const SCRIPT_PATH = pathOf(PAGE_SCRIPT, 'js');

/** The style of pages with the name, the logo and the colour of the settings. Pages without a head of their own are narrow. */
function styleOf(config: Config): string {
  const { siteName, siteLogo: logo, siteColour: colour } = PAGE_SETTINGS.of(config);
  const name = siteName.replaceAll(/[^\w ]/gu, (each) => `\\${each.codePointAt(0)!.toString(16)} `);
  // The dark theme has a lighter tint.
  const light = `color-mix(in srgb,${colour} 40%,#fff)`;
  return [
    STYLE,
    `.narrow::before{content:"${name}";display:block;font-weight:700;line-height:1.75rem;margin-bottom:1.5rem}`,
    logo &&
      `:root{--logo:url(${logo})}.brand::before{content:"";width:1.75rem;height:1.75rem;background:center/contain no-repeat var(--logo)}`,
    logo && '.narrow::before{padding-left:2.25rem;background:left/1.75rem no-repeat var(--logo)}',
    colour && `:root{--link:${colour}}@media (prefers-color-scheme:dark){:root{--link:${light}}}`,
  ].join('');
}

/** The name of the service, and the elements that load the style and the script. */
export const lookOf = (config: Config): { name: string; head: Html } => ({
  name: PAGE_SETTINGS.of(config).siteName,
  head: html`<link rel="stylesheet" href="${config.publicPrefix}${pathOf(styleOf(config), 'css')}"><script src="${config.publicPrefix}${SCRIPT_PATH}" defer blocking="render"></script>`,
});

const asset = (
  path: string,
  type: string,
  body: string,
  caching = 'max-age=31536000, immutable',
): Endpoint => ({
  ...at('GET', path, 'nothing'),
  run: () => ({
    status: 200,
    headers: [...['Content-Type', `${type}; charset=utf-8`], ...['Cache-Control', `public, ${caching}`]],
    body,
  }),
});

/** The style and the script of all pages. Another text has another address, so that clients may store them. */
export function assetsOf(config: Config): Endpoint[] {
  const style = styleOf(config);
  return [
    asset(pathOf(style, 'css'), 'text/css', style),
    asset(SITE_STYLE_PATH, 'text/css', style, 'max-age=300'),
    asset(SCRIPT_PATH, 'text/javascript', PAGE_SCRIPT),
  ];
}
