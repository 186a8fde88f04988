FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=optional --ignore-scripts
COPY tsconfig.json ./
COPY src src
RUN npm run build

FROM node:22-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist/src dist/src
COPY package.json ./
COPY sql sql
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
CMD ["node", "dist/src/main.js"]
